# Flags that every target of the project shares.
#
# Bits are the product: no contraction of a*b+c into an FMA and no fast-math, whatever the user's CXXFLAGS say.
add_library(samebits_options INTERFACE)
target_compile_features(samebits_options INTERFACE cxx_std_20)
target_compile_options(samebits_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -fno-fast-math -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-restrict>)  # GCC 12 reports it falsely on std::string's operator+
target_include_directories(samebits_options INTERFACE ${PROJECT_SOURCE_DIR})
if(SAMEBITS_SANITIZE)
  target_compile_options(samebits_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(samebits_options INTERFACE -fsanitize=address,undefined)
endif()
