#!/bin/sh
# Does what a section of docs/consuming.md says, in an empty folder: `page.sh SECTION COMPILER`. A block whose first
# line is `# NAME` or `// NAME` is the file NAME, a block of sh is run, and the program must print what main.cpp says.
# Exit status 77: something is not installed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
section=$1 compiler=$2
case $compiler in nvcc) compiler=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || echo nvcc) ;; esac
case $section in
  Conan) needed=conan ;;
  Meson) needed=meson ;;
  pkg-config) needed=pkg-config ;;
  *) needed=awk ;;
esac
for tool in "$compiler" $needed; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
compiler=$(command -v "$compiler")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# blocks SECTION sh|files: prints the commands of the section, or writes its files. main.cpp stands above all sections.
blocks() {
  awk -v section="$1" -v wanted="$2" '
    BEGIN { here = section == "" }
    /^## / { here = $0 == "## " section; found = found || here; next }
    here && /^```[a-z]/ { inside = substr($0, 4); first = 1; next }
    /^```$/ { inside = ""; name = ""; next }
    inside == "sh" && wanted == "sh"
    inside != "" && inside != "sh" && wanted == "files" {
      if (first && $1 ~ /^(#|\/\/)$/) { name = $2; written = name }
      if (name != "") print >name
      first = 0
    }
    END { if (section != "" && !found) { print "false # no section is called " section } }' "$source/docs/consuming.md"
}
perform() {
  blocks "$1" sh >"$work/commands"
  [ -s "$work/commands" ] || { echo "FAILED: docs/consuming.md has no commands under \`## $1\`"; exit 1; }
  sh -eu "$work/commands" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAILED: the commands of $1"; exit 1; }
}

# Where the page says g++ it means the compiler that was asked for (which may be nvcc, to whom g++ is g++).
mkdir bin
name=g++
[ "$section" != nvcc ] || name=nvcc
printf '#!/bin/sh\nexec "%s" "$@"\n' "$compiler" >bin/$name && chmod +x bin/$name || exit 1
PATH=$work/bin:$PATH
export PATH
if [ "$section" = nvcc ]; then export CUDACXX="$compiler"; else export CXX="$compiler"; fi
unset CXXFLAGS CMAKE_PREFIX_PATH PKG_CONFIG_PATH
mkdir tenon
parts="CMakeLists.txt LICENSE meson.build cmake compiled debugger include packaging"
# shellcheck disable=SC2086  # several names
(cd "$source" && cp -R $parts "$work/tenon/") || exit 1
blocks "" files
blocks "$section" files

case $section in
  FetchContent) tar czf tenon.tar.gz tenon || exit 1 ;;
  find_package | pkg-config | nvcc) perform Install ;;
  Conan)
    blocks find_package files
    # No network: zlib is the system's, no remote is asked.
    export CONAN_HOME="$work/conan"
    { conan profile detect && conan remote disable '*'; } >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    printf '[platform_requires]\nzlib/1.2.13\n' >>"$CONAN_HOME/profiles/default" ;;
esac
perform "$section"
grep -qxF '[2. 4. 6.]' "$work/log" || { cat "$work/log"; echo "FAILED: the program does not print [2. 4. 6.]"; exit 1; }
if grep -i 'warning' "$work/log"; then echo "FAILED: a warning"; exit 1; fi
echo "docs/consuming.md, $section, with $2: builds, runs, warns of nothing."
