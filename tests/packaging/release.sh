#!/bin/sh
# The files of a release, made twice from a copy of the sources, and what must stop it; names that are gone: `release.sh
# SOURCE_DIR`.
set -u
source=$1
command -v git >/dev/null && git -C "$source" rev-parse HEAD >/dev/null 2>&1 ||
  { echo "SKIPPED: these sources are no checkout of git"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
copy=$dir/copy
git clone -q "$source" "$copy" || exit 1
# what is not committed yet is tried, too
cp "$source"/packaging/*.py "$copy/packaging/"
version=$(sed -n 's/.*define TENON_VERSION "\(.*\)"/\1/p' "$copy/include/tenon/core/config.hpp")
commit() { git -C "$copy" -c user.name=test -c user.email=test@example.com commit -qam "$1"; }
release() {
  python3 "$copy/packaging/release.py" "$1" --url "https://example.com/v{version}/tenon.tar.gz" >"$dir/out" 2>&1
}
stops() {
  release "$dir/none" && fail "$1 stops no release"
  grep -q "$2" "$dir/out" || { cat "$dir/out"; fail "$1"; }
  [ ! -e "$dir/none" ] || fail "$1: files are written"
}

git -C "$copy" add packaging && git -C "$copy" diff --cached --quiet || commit "scripts"
stops "a version without a date" 'is unreleased'
sed -i "s/^## $version (unreleased)/## $version (2030-01-02)/" "$copy/CHANGELOG.md"
stops "a change that is not committed" 'Commit first'
commit "release"
release "$dir/one" || { cat "$dir/out"; fail "a release"; }
release "$dir/two"
diff -r "$dir/one" "$dir/two" >/dev/null || fail "two runs write different files"
(cd "$dir/one" && sha256sum -c --quiet "tenon-$version.tar.gz.sha256") || fail "the checksum"
tar -xzf "$dir/one/tenon-$version.tar.gz" -C "$dir" && cmp "$dir/tenon-$version/README.md" "$copy/README.md" ||
  fail "the archive"
sum=$(sha256sum "$dir/one/tenon-$version.tar.gz" | cut -d ' ' -f 1)
grep -q "sha256: \"$sum\"" "$dir/one/conandata.yml" || fail "Conan's checksum"
grep -q "URLS \"https://example.com/v$version/tenon.tar.gz\"" "$dir/one/portfile-source.cmake" || fail "vcpkg's address"
python3 - "$dir/one/tenon-$version.cdx.json" "$sum" <<'PYTHON' || fail "the list of parts"
import json, sys
parts = json.load(open(sys.argv[1]))
assert parts["bomFormat"] == "CycloneDX" and parts["metadata"]["component"]["hashes"][0]["content"] == sys.argv[2]
names = {part["name"] for part in parts["components"]}
assert {"zlib", "xtensor", "protozero", "libpng"} <= names, names
assert all(part["scope"] == "optional" for part in parts["components"])
PYTHON
sed -i "s/^  version: '$version'/  version: '9.9.9'/; s/version: '$version'/version: '9.9.9'/" "$copy/meson.build"
stops "another version in meson.build" 'meson.build has 9.9.9'
git -C "$copy" checkout -q meson.build

api() { python3 "$copy/packaging/api_changes.py" HEAD >"$dir/out" 2>&1; }
api && [ ! -s "$dir/out" ] || { cat "$dir/out"; fail "no change of the API is none"; }
sed -i 's/^| `einsum` /| `einsum_renamed` /' "$copy/docs/operators.md"
api && fail "a name that is gone, and is not in CHANGELOG.md"
grep -q '^+ docs/operators.md: einsum_renamed' "$dir/out" && grep -q 'does not name what is gone: einsum' "$dir/out" ||
  { cat "$dir/out"; fail "what is said of a name that is gone"; }
printf -- '- einsum is called einsum_renamed now.\n' >>"$copy/CHANGELOG.md"
api || { cat "$dir/out"; fail "a name that is gone, as CHANGELOG.md says"; }
exit $failed
