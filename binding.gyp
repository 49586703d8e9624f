# The addon as node-gyp builds it. CMakeLists.txt builds the same folders for the C++ tests and for IDEs;
# both take every .cc of a folder, so there is no list of sources to keep in step.
{
  "variables": { "sanitize%": "" },
  "targets": [
    {
      "target_name": "lmq_store",
      "sources": ["<!@(ls native/core/*.cc native/binding/*.cc)"],
      "include_dirs": ["native", "<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=8", "NAPI_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED",
                  # A process that exits, or a worker that ends, takes no more exceptions.
                  "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20"],
      # No -march: one binary serves every machine, the fast kernels are chosen at run time.
      "cflags_cc": ["-std=c++20", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden", "-fno-rtti"],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++20",
        "CLANG_CXX_LIBRARY": "libc++",
        "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
        "GCC_ENABLE_CPP_RTTI": "NO",
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
        "MACOSX_DEPLOYMENT_TARGET": "11.0",
      },
      # Assertions are live in the C++ tests and in debug builds.
      "configurations": { "Release": { "defines": ["NDEBUG"] } },
      "conditions": [
        ["sanitize!=''", {
          "cflags_cc": ["-fsanitize=<(sanitize)", "-fno-omit-frame-pointer", "-g", "-O1"],
          "ldflags": ["-fsanitize=<(sanitize)"],
        }],
      ],
    },
  ],
}
