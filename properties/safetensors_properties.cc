#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "harness/checkpoint/safetensors_writer.h"
#include "harness/checkpoint/tensor_source.h"
#include "harness/core/error.h"
#include "properties/temporary_directory.h"

namespace samebits {
namespace {

namespace fs = std::filesystem;
using checkpoint::open_checkpoint;
using checkpoint::write_safetensors;
using Tensors = std::map<std::string, HostTensor>;
using Metadata = std::map<std::string, std::string>;

// Printable ASCII, with the quote and the backslash, and two letters of more than one byte.
rc::Gen<std::string> text() {
  const auto piece = rc::gen::weightedOneOf<std::string>(
      {{8, rc::gen::map(rc::gen::inRange<int>(' ', '~' + 1),
                        [](int c) { return std::string(1, static_cast<char>(c)); })},
       {1, rc::gen::element<std::string>("\u00f6", "\u4f60", "\"", "\\")}});
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string all;
                        for (const auto& p : pieces) all += p;
                        return all;
                      });
}

rc::Gen<HostTensor> tensor() {
  return rc::gen::exec([] {
    const auto dtype = static_cast<DType>(*rc::gen::inRange(0, static_cast<int>(DType::kU64) + 1));
    const auto sizes = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5));
    Shape shape(sizes.begin(), sizes.begin() + std::min<std::ptrdiff_t>(std::ssize(sizes), 4));
    if (dtype_bits(dtype) < 8)
      shape.push_back(4);  // 4- and 6-bit elements come to whole bytes by fours
    const auto count = static_cast<std::size_t>(element_count(shape) * dtype_bits(dtype) / 8);
    const auto data =
        *rc::gen::container<std::vector<std::uint8_t>>(count, rc::gen::arbitrary<std::uint8_t>());
    return HostTensor::of<std::uint8_t>(dtype, shape, data);
  });
}

rc::Gen<Tensors> tensors() {
  const auto is_name = [](const std::string& name) {
    return !name.empty() && name != "__metadata__";
  };
  return rc::gen::container<Tensors>(rc::gen::suchThat(text(), is_name), tensor());
}

bool same(const HostTensor& a, const HostTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes.size() == b.bytes.size() &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
}

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads every byte of every tensor, so that a view outside the mapping is met by a fault or a
// sanitizer.
std::size_t read_all(const checkpoint::TensorSource& source) {
  std::size_t count = 0;
  unsigned sum = 0;
  for (const auto& entry : source.entries()) {
    const HostTensor value = source.read(entry.name);
    RC_ASSERT(value.bytes.size() == entry.byte_count);
    for (const std::byte b : value.bytes) sum += std::to_integer<unsigned>(b);
    count += value.bytes.size();
  }
  RC_ASSERT(sum <= 255 * count);
  return count;
}

RC_GTEST_PROP(SafetensorsFile, GivesBackWhatWasWritten, ()) {
  const Tensors written = *tensors();
  const auto metadata = *rc::gen::container<Metadata>(text(), text());
  const properties::TemporaryDirectory directory;
  write_safetensors(directory / "t", written, metadata);

  const auto source = open_checkpoint(directory / "t");
  RC_ASSERT(source->metadata() == metadata);
  RC_ASSERT(source->entries().size() == written.size());
  for (const auto& [name, value] : written) RC_ASSERT(same(source->read(name), value));
}

RC_GTEST_PROP(SafetensorsFile, WrittenAgainFromItsTensorsHasTheSameBytes, ()) {
  const properties::TemporaryDirectory directory;
  write_safetensors(directory / "first", *tensors(), {});
  const auto source = open_checkpoint(directory / "first");
  Tensors read;
  for (const auto& entry : source->entries()) read[entry.name] = source->read(entry.name);
  write_safetensors(directory / "second", read, source->metadata());
  RC_ASSERT(file_bytes(directory / "first") == file_bytes(directory / "second"));
}

// Accepted or refused, never a crash; what is accepted covers the data section exactly.
RC_GTEST_PROP(SafetensorsFile, WithOneByteOfItsHeaderChangedIsRefusedOrStaysInsideTheFile, ()) {
  const properties::TemporaryDirectory directory;
  write_safetensors(directory / "t", *tensors(), {{"key", "value"}});
  std::string bytes = file_bytes(directory / "t");
  const std::size_t header =
      8 + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  // Half of the changes make another character of the header's own alphabet, which gets past the
  // JSON.
  const std::size_t place = *rc::gen::inRange<std::size_t>(0, header);
  bytes[place] = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                 rc::gen::elementOf(std::string("0123456789{}[],:\"-.eFU")));
  std::ofstream(directory / "t", std::ios::binary) << bytes;

  try {
    const auto source = open_checkpoint(directory / "t");
    const std::uint64_t length = bytes.size() - read_all(*source) - 8;
    RC_ASSERT(bytes.substr(0, 8) == std::string(reinterpret_cast<const char*>(&length), 8));
  } catch (const Error& error) {
    const std::string reason = error.what();
    RC_ASSERT(reason.starts_with((directory / "t").string() + ": "));
    RC_ASSERT(reason.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace samebits
