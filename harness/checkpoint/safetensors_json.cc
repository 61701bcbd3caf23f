#include "harness/checkpoint/safetensors_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "harness/checkpoint/safetensors_header.h"
#include "harness/core/error.h"
#include "harness/core/printable.h"
#include "reference/mutants.h"

namespace samebits::checkpoint {
namespace {

// Follows the header's one form event by event, so that nothing deeper or other is ever built. The
// library's own tree would keep the last of two equal keys and turn an integer from 2^64 into a
// double, both in silence.
class HeaderSax : public nlohmann::json_sax<nlohmann::json> {
 public:
  RawHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::kFile:
        return go(Place::kTop);
      case Place::kTopValue:
        return go(in_metadata_ ? Place::kMetadata : Place::kTensor);
      default:
        unexpected("an object");
    }
  }

  bool key(std::string& text) override {
    switch (place_) {
      case Place::kTop:
        return top_key(text);
      case Place::kMetadata:
        return metadata_key(text);
      default:
        return tensor_key(text);
    }
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      for (const auto& [seen, field] : {std::pair(seen_dtype_, "dtype"),
                                        {seen_shape_, "shape"},
                                        {seen_offsets_, "data_offsets"}}) {
        if (!seen) refuse(std::string(field) + " is missing");
      }
    }
    return go(place_ == Place::kTop ? Place::kFile : Place::kTop);
  }

  bool start_array(std::size_t) override {
    switch (place_) {
      case Place::kShape:
        return go(Place::kShapeItems);
      case Place::kOffsets:
        return go(Place::kOffsetItems);
      default:
        unexpected("an array");
    }
  }

  bool end_array() override {
    if (place_ == Place::kOffsetItems && offsets_ != 2) refuse_offset_count();
    return go(Place::kTensor);
  }

  bool string(std::string& text) override {
    switch (place_) {
      case Place::kMetadataValue:
        *metadata_value_ = std::move(text);
        return go(Place::kMetadata);
      case Place::kDtype:
        tensor().dtype = std::move(text);
        return go(Place::kTensor);
      default:
        unexpected("a string");
    }
  }

  bool number_unsigned(std::uint64_t value) override {
    switch (place_) {
      case Place::kShapeItems:
        if (tensor().shape.size() == kMaxRank) {
          refuse("has more than " + std::to_string(kMaxRank) + " dimensions");
        }
        tensor().shape.push_back(value);
        return true;
      case Place::kOffsetItems:
        if (offsets_ == 2) refuse_offset_count();
        tensor().data_offsets[offsets_++] = value;
        return true;
      default:
        unexpected("a number");
    }
  }

  bool number_integer(std::int64_t) override { unexpected("a negative number"); }
  bool number_float(double, const std::string&) override {
    unexpected("a number that is not an integer below 2^64");
  }
  bool boolean(bool) override { unexpected("true or false"); }
  bool null() override { unexpected("null"); }
  bool binary(nlohmann::json::binary_t&) override { unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    throw Error("the header is not valid JSON at its byte " + std::to_string(position));
  }

 private:
  // Where the next event belongs: k...Value, kDtype, kShape and kOffsets wait for one value, the
  // others for a key, an item or the end.
  enum class Place {
    kFile,
    kTop,
    kTopValue,
    kMetadata,
    kMetadataValue,
    kTensor,
    kDtype,
    kShape,
    kShapeItems,
    kOffsets,
    kOffsetItems
  };

  RawTensor& tensor() { return header_.tensors.back(); }

  bool go(Place place) {
    place_ = place;
    return true;
  }

  bool top_key(std::string& text) {
    if (!names_.insert(text).second && !mutant("a tensor may stand twice"))
      throw Error("the key \"" + printable(text, 120) + "\" stands twice in the header");
    in_metadata_ = text == "__metadata__";
    if (!in_metadata_) {
      if (header_.tensors.size() == kMaxTensors) {
        throw Error("more than " + std::to_string(kMaxTensors) + " tensors");
      }
      header_.tensors.emplace_back().name = std::move(text);
      seen_dtype_ = seen_shape_ = seen_offsets_ = false;
      offsets_ = 0;
    }
    return go(Place::kTopValue);
  }

  bool metadata_key(std::string& text) {
    const auto [entry, is_new] = header_.metadata.try_emplace(std::move(text));
    if (!is_new)
      throw Error("__metadata__: the key \"" + printable(entry->first, 120) + "\" stands twice");
    metadata_value_ = &entry->second;
    return go(Place::kMetadataValue);
  }

  bool tensor_key(const std::string& text) {
    if (text == "dtype") return first(seen_dtype_, text, Place::kDtype);
    if (text == "shape") return first(seen_shape_, text, Place::kShape);
    if (text == "data_offsets") return first(seen_offsets_, text, Place::kOffsets);
    refuse("unknown key \"" + printable(text, 120) + "\"");
  }

  bool first(bool& seen, const std::string& text, Place place) {
    if (seen) refuse("the key \"" + text + "\" stands twice");
    seen = true;
    return go(place);
  }

  [[noreturn]] void refuse(const std::string& reason) { refuse_tensor(tensor().name, reason); }
  [[noreturn]] void refuse_offset_count() { refuse("data_offsets are not two numbers"); }

  [[noreturn]] void unexpected(const std::string& found) {
    switch (place_) {
      case Place::kFile:
      case Place::kTop:
        throw Error("the header is not an object");
      case Place::kMetadata:
      case Place::kMetadataValue:
        throw Error("__metadata__: a value is " + found + ", not a string");
      case Place::kTopValue:
        if (in_metadata_) throw Error("__metadata__ is " + found + ", not an object");
        refuse("is described by " + found + ", not by an object");
      case Place::kTensor:
      case Place::kDtype:
        refuse("dtype is " + found + ", not a string");
      case Place::kShape:
        refuse("shape is " + found + ", not an array");
      case Place::kOffsets:
        refuse("data_offsets are " + found + ", not an array");
      case Place::kShapeItems:
        refuse("shape holds " + found);
      case Place::kOffsetItems:
        refuse("data_offsets hold " + found);
    }
    throw Error("the header is not an object");
  }

  RawHeader header_;
  std::unordered_set<std::string> names_;
  Place place_ = Place::kFile;
  bool in_metadata_ = false;
  std::string* metadata_value_ = nullptr;
  bool seen_dtype_ = false, seen_shape_ = false, seen_offsets_ = false;
  std::size_t offsets_ = 0;
};

}  // namespace

RawHeader parse_safetensors_json(std::string_view json) {
  // The library skips a byte order mark and takes a zero byte for the end of the text.
  if (!json.starts_with('{')) throw Error("the header does not begin with '{'");
  if (const std::size_t zero = json.find('\0'); zero != std::string_view::npos) {
    throw Error("the header is not valid JSON at its byte " + std::to_string(zero + 1));
  }
  HeaderSax sax;
  nlohmann::json::sax_parse(json.begin(), json.end(), &sax);
  return sax.take();
}

}  // namespace samebits::checkpoint
