#include <array>
#include <string>
#include <string_view>

#include "harness/checkpoint/mapped_file.h"
#include "harness/checkpoint/safetensors.h"
#include "harness/checkpoint/tensor_source.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"

namespace samebits::checkpoint {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kConvertTorch =
    "convert its flat dict of tensors in Python: import torch, safetensors.torch; "
    "safetensors.torch.save_file({k: v.clone().contiguous() for k, v in torch.load(\"OLD\", "
    "map_location=\"cpu\", "
    "weights_only=True).items()}, \"NEW.safetensors\")";
constexpr std::string_view kSaveArrays =
    "load its tensors with its own library and save them with safetensors.numpy.save_file";

struct Foreign {
  std::string_view magic;  // the file's first bytes
  std::string_view what;
  std::string_view advice;
};
constexpr std::array kForeign{
    Foreign{"PK\x03\x04"sv, "a ZIP archive, as torch.save writes", kConvertTorch},
    Foreign{"PK\x05\x06"sv, "an empty ZIP archive", kConvertTorch},
    Foreign{"\x80\x02"sv, "a Python pickle, as older torch.save wrote", kConvertTorch},
    Foreign{"\x80\x03"sv, "a Python pickle", kConvertTorch},
    Foreign{"\x80\x04"sv, "a Python pickle", kConvertTorch},
    Foreign{"\x80\x05"sv, "a Python pickle", kConvertTorch},
    Foreign{"GGUF"sv, "a GGUF file", kSaveArrays},
    Foreign{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", kSaveArrays},
    Foreign{"\x93NUMPY"sv, "a NumPy array", kSaveArrays},
    Foreign{"version https://git-lfs"sv, "a Git LFS pointer, not the data",
            "fetch the data with git lfs pull"},
};

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what,
                         std::string_view advice) {
  throw Error(printable(path.native()) + ": is " + std::string(what) +
              ", which samebits does not read; " + std::string(advice));
}

}  // namespace

std::unique_ptr<TensorSource> open_checkpoint(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) throw Error(printable(path.native()) + ": is empty");

  // A safetensors file may begin with any bytes (a header's length); what makes it one is the '{'
  // behind them.
  const bool looks_like_safetensors = text.size() > 8 && text[8] == '{';
  if (!looks_like_safetensors) {
    for (const Foreign& format : kForeign) {
      if (text.starts_with(format.magic)) refuse(path, format.what, format.advice);
    }
    if (text.starts_with('{') && text.find("\"weight_map\"") != std::string_view::npos) {
      refuse(path, "the index of a sharded checkpoint",
             "name one shard, or merge the shards in Python: from safetensors.torch import "
             "load_file, save_file; "
             "save_file({k: v for shard in SHARDS for k, v in load_file(shard).items()}, "
             "\"NEW.safetensors\")");
    }
  }
  return open_safetensors(std::move(file));
}

}  // namespace samebits::checkpoint
