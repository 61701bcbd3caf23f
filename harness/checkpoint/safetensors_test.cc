#include "harness/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include "harness/checkpoint/safetensors_writer.h"
#include "harness/core/error.h"
#include "properties/temporary_directory.h"

namespace samebits::checkpoint {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, HostTensor>;
using Metadata = std::map<std::string, std::string>;

HostTensor counting_bytes(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  std::iota(values.begin(), values.end(), std::uint8_t{1});
  return HostTensor::of<std::uint8_t>(DType::kU8, {static_cast<std::int64_t>(count)}, values);
}

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The length, the JSON and the data, with nothing done for alignment.
void write_raw(const fs::path& path, const std::string& json, const std::string& data) {
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t length = json.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << json << data;
}

class SafetensorsTest : public testing::Test {
 protected:
  std::string refusal_to_write(const Tensors& tensors, const Metadata& metadata = {}) {
    try {
      write_safetensors(path_, tensors, metadata);
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(path_));
      return error.what();
    }
    return "written";
  }

  properties::TemporaryDirectory directory_;
  fs::path path_ = directory_ / "t.safetensors";
};

TEST_F(SafetensorsTest, NothingIsAssumedAboutAlignment) {
  write_raw(path_,
            R"({"bytes":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
            R"("value":{"dtype":"F32","shape":[],"data_offsets":[3,7]}})",
            std::string("\x01\x02\x03\x00\x00\x80\x3f", 7));
  const auto source = open_safetensors(MappedFile::open(path_));
  EXPECT_EQ(source->read("bytes").at<std::uint8_t>(2), 3);
  EXPECT_EQ(source->read("value").at<float>(0), 1.0f);
}

TEST_F(SafetensorsTest, EntriesAscendByNameWhateverTheFilesOrder) {
  write_raw(path_,
            R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
            R"("a":{"dtype":"I8","shape":[2,1],"data_offsets":[2,4]},)"
            R"("B":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
            "\x0a\x0b\x0c\x0d");
  const auto source = open_safetensors(MappedFile::open(path_));
  ASSERT_EQ(source->entries().size(), 3u);
  EXPECT_EQ(source->entries()[0].name, "B");
  EXPECT_EQ(source->entries()[1].name, "a");
  EXPECT_EQ(source->entries()[1].dtype, DType::kI8);
  EXPECT_EQ(source->entries()[1].shape, (Shape{2, 1}));
  EXPECT_EQ(source->entries()[1].byte_count, 2u);
  EXPECT_EQ(source->entries()[2].name, "b");
  EXPECT_EQ(source->read("a").at<std::uint8_t>(1), 0x0d);
  EXPECT_EQ(source->read("B").at<std::uint8_t>(0), 0x0b);
  EXPECT_EQ(source->read("b").at<std::uint8_t>(0), 0x0a);
}

TEST_F(SafetensorsTest, ATensorOutlivesItsSourceAndItsFile) {
  write_safetensors(path_, {{"w", counting_bytes(100'000)}}, {});
  HostTensor tensor;
  {
    const auto source = open_safetensors(MappedFile::open(path_));
    tensor = source->read("w");
  }
  fs::remove(path_);
  const HostTensor expected = counting_bytes(100'000);
  ASSERT_EQ(tensor.bytes.size(), expected.bytes.size());
  EXPECT_EQ(std::memcmp(tensor.bytes.data(), expected.bytes.data(), tensor.bytes.size()), 0);
}

TEST_F(SafetensorsTest, TwoReadsAreViewsOfOneMapping) {
  write_safetensors(path_, {{"w", counting_bytes(4)}}, {});
  const auto source = open_safetensors(MappedFile::open(path_));
  EXPECT_EQ(source->read("w").bytes.data(), source->read("w").bytes.data());
}

TEST_F(SafetensorsTest, ATensorThatIsNotThereIsNamed) {
  write_safetensors(path_, {{"b", counting_bytes(4)}}, {});
  const auto source = open_safetensors(MappedFile::open(path_));
  for (const std::string name : {"a", "bb", "c", ""}) {
    try {
      source->read(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), path_.string() + ": tensor " + name + ": not in the file");
    }
  }
}

TEST_F(SafetensorsTest, WritesTheseVeryBytes) {
  write_safetensors(path_,
                    {{"a", counting_bytes(3)},
                     {"z", HostTensor::of<float>(DType::kF32, {1}, std::vector<float>{1.0f})},
                     {"e", HostTensor::of<float>(DType::kF32, {2, 0}, std::vector<float>{})}},
                    {{"k", "v\n"}});
  std::string json = R"({"__metadata__":{"k":"v\n"},)"
                     R"("e":{"dtype":"F32","shape":[2,0],"data_offsets":[0,0]},)"
                     R"("z":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                     R"("a":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})";
  EXPECT_EQ(json.size(), 188u);
  json += "    ";
  EXPECT_EQ(file_bytes(path_),
            std::string("\xc0\0\0\0\0\0\0\0", 8) + json + std::string("\0\0\x80\x3f\1\2\3", 7));
}

TEST_F(SafetensorsTest, AnEmptySetIsAFile) {
  write_safetensors(path_, {}, {});
  EXPECT_EQ(file_bytes(path_), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(open_safetensors(MappedFile::open(path_))->entries().empty());
}

TEST_F(SafetensorsTest, TheWriterRefusesWhatTheReaderWould) {
  const std::string at = path_.string() + ": ";
  HostTensor short_tensor = counting_bytes(3);
  short_tensor.shape = {4};
  HostTensor negative = counting_bytes(4);
  negative.shape = {-2, -2};
  const HostTensor half = HostTensor::own(DType::kF4, {3}, std::vector<std::byte>(2));

  EXPECT_EQ(refusal_to_write({{"", counting_bytes(1)}}), at + "a tensor has the empty name");
  EXPECT_EQ(refusal_to_write({{"__metadata__", counting_bytes(1)}}),
            at + "tensor __metadata__: the name is reserved");
  EXPECT_EQ(refusal_to_write({{"a\tb", counting_bytes(1)}}),
            at + "tensor a\\x09b: the name holds a control character");
  EXPECT_EQ(refusal_to_write({{"w", short_tensor}}),
            at + "tensor w: has 3 bytes, but U8 [4] has 4");
  EXPECT_EQ(refusal_to_write({{"w", negative}}),
            at + "tensor w: shape [-2, -2] has a negative dimension");
  EXPECT_EQ(refusal_to_write({{"w", half}}), at + "tensor w: F4 [3] does not come to whole bytes");
  EXPECT_EQ(refusal_to_write({{"\xff", counting_bytes(1)}}), at + "\"\\xff\" is not UTF-8");
  EXPECT_EQ(refusal_to_write({}, {{"k", "\xc3"}}), at + "\"\\xc3\" is not UTF-8");
}

}  // namespace
}  // namespace samebits::checkpoint
