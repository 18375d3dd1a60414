// A locale whose numbers have a comma, as the German one, on systems that have none installed.
#pragma once
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <locale>
#include <string>

#include <sys/stat.h>

#include "skip.hpp"

namespace support {

/// While it lives, "1.5" is "1,5" for C++ streams and, where the C library is glibc, for printf and strtod as well.
class CommaLocale {
 public:
  CommaLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new Punctuation))) {
    write_file();
    ::setenv("LOCPATH", ".", 1);
    std::setlocale(LC_NUMERIC, "comma");
    char text[8];
    std::snprintf(text, sizeof text, "%.1f", 1.5);
    if (std::strcmp(text, "1,5") != 0) say_skipped("this C library reads no locale file, so printf keeps its point");
  }
  ~CommaLocale() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

 private:
  struct Punctuation : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  // As localedef writes it: a mark, the number of fields, where each begins, and the fields.
  static void write_file() {
    constexpr std::uint32_t comma = ',', point = '.', fields = 6, header = 4 * (2 + fields);
    const std::string field[fields]{std::string(",\0", 2),
                                    std::string(".\0", 2),
                                    std::string("\3\0", 2),
                                    std::string(reinterpret_cast<const char*>(&comma), 4),
                                    std::string(reinterpret_cast<const char*>(&point), 4),
                                    std::string("UTF-8\0", 6)};
    std::uint32_t words[2 + fields]{0x20031115u ^ LC_NUMERIC, fields};
    std::string bytes;
    for (std::uint32_t k = 0; k < fields; ++k) {
      bytes.resize((bytes.size() + 3) / 4 * 4);
      words[2 + k] = header + static_cast<std::uint32_t>(bytes.size());
      bytes += field[k];
    }
    ::mkdir("comma", 0777);
    std::ofstream file("comma/LC_NUMERIC", std::ios::binary);
    file.write(reinterpret_cast<const char*>(words), header);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::locale before_;
};

}  // namespace support
