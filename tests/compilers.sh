#!/bin/sh
# Tries Tenon with compilers that this machine does not have, each in a root of the Debian that has it:
#   compilers.sh               one that is not Debian 12's, what .ci/run does
#   compilers.sh --long        all, for the table of docs/consuming.md (30 minutes on two cores); g++-14 and clang++-22
#                              are asked all mistakes of tests/error
#   compilers.sh g++-13 ...    these
# tests/compilers/check.sh says what each must do; the bits of all must be equal. Roots are made by debootstrap from the
# mirror in this machine's own apt sources, and kept in $TENON_ROOTS (/var/cache/tenon-roots), so that the next run
# takes no more than the checks; remove the folder to begin anew. Exit status 77: not as root, or no network.
set -u
source=$(cd "$(dirname "$0")/.." && pwd)
roots=${TENON_ROOTS:-/var/cache/tenon-roots}

# Compiler, the Debian, its packages, flags.
matrix='
g++-12                 bookworm  g++-12
g++-13                 trixie    g++-13
g++-14                 trixie    g++-14
clang++-19             trixie    clang-19
g++-15                 sid       g++-15
g++-16                 sid       g++-16
clang++-21             sid       clang-21
clang++-22             sid       clang-22
clang++-22-libc++      sid       clang-22,libc++-22-dev,libc++abi-22-dev  -stdlib=libc++
'
usual=g++-14 all_mistakes= preset=release

status=0
# skip REASON: ends the run, as failed if an earlier compiler has failed.
skip() {
  echo "SKIPPED: $*, so Tenon was not tried with other compilers"
  [ $status -eq 0 ] || exit 1
  exit 77
}
case ${1:-} in
  --long) all_mistakes='g++-14 clang++-22' && set -- $(printf '%s' "$matrix" | awk 'NF { print $1 }') ;;
  -*) sed -n '2,8p' "$0"; exit 2 ;;
  '') preset=headers && set -- $usual ;;  # the compiled part takes a minute
esac
for name; do
  printf '%s' "$matrix" | awk -v name="$name" '$1 == name { found = 1 } END { exit !found }' ||
    { echo "There is no compiler '$name' here, but:$(printf '%s' "$matrix" | awk 'NF { printf " %s", $1 }')"; exit 2; }
done
[ "$(uname -m)" = x86_64 ] || skip "roots are made on x86-64 only"
[ "$(id -u)" -eq 0 ] || skip "not run as root, which chroot needs"
command -v apt-get >/dev/null || skip "there is no apt-get, whose mirror the roots come from"
mkdir -p "$roots" 2>/dev/null || skip "$roots cannot be made (TENON_ROOTS names another folder)"
# One run at a time: each puts its checkout into the root.
exec 9>"$roots/lock"
! command -v flock >/dev/null || flock 9
work=$(mktemp -d) || exit 1
root="" mounted=""
leave() {
  [ -z "$mounted" ] || umount "$mounted"
  [ -z "$root" ] || rm -rf --one-file-system "$root/src"
  root="" mounted=""
}
trap 'leave; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# inside COMMAND...: in the root, with nothing of this machine's environment but the way to the network and its cores.
inside() {
  # shellcheck disable=SC2046  # several words
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
    $(env | grep -E '^(https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY|SSL_CERT|CMAKE_BUILD_PAR|CTEST_PAR)' || true) "$@"
}

# make_root DEBIAN: the bare system, once.
make_root() {
  command -v debootstrap >/dev/null ||
    { apt-get update -qq && apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends debootstrap; } \
      >"$work/log" 2>&1 ||
    skip "debootstrap is missing, and apt-get cannot install it: $(tail -n 1 "$work/log")"
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    awk '$1 == "deb" { for (k = 2; k <= NF; ++k) if ($k ~ /:\/\//) { print $k; exit } }')
  [ -n "$mirror" ] || mirror=$(awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/*.sources 2>/dev/null)
  [ -n "$mirror" ] || skip "apt's sources name no mirror"
  echo "Making a root of Debian $1 in $roots (once, 2 min) ..."
  part=$(mktemp -d "$roots/part.XXXXXX") || exit 1
  debootstrap --variant=minbase --include=ca-certificates "$1" "$part" "$mirror" >"$work/log" 2>&1 || {
    rm -rf --one-file-system "$part"
    skip "debootstrap cannot make a root of Debian $1: $(tail -n 1 "$work/log")"
  }
  echo "deb $mirror $1 main" >"$part/etc/apt/sources.list"
  chmod 755 "$part"
  mv -T "$part" "$roots/$1" 2>/dev/null || rm -rf --one-file-system "$part"  # another run was first
}

# enter DEBIAN PACKAGES: sets $root, with the packages in it and this checkout, as it is now, in /src.
enter() {
  [ -d "$roots/$1/etc" ] || make_root "$1"
  root=$roots/$1
  for file in resolv.conf hosts; do [ ! -e /etc/$file ] || cp -L /etc/$file "$root/etc/"; done
  for folder in /etc/apt/apt.conf.d /etc/ssl/certs /usr/local/share/ca-certificates; do
    mkdir -p "$root$folder" && cp -r $folder/. "$root$folder/" 2>/dev/null
  done
  if [ ! -e "$root/proc/self" ]; then
    mount -t proc proc "$root/proc" || skip "proc cannot be mounted in a root"
    mounted=$root/proc
  fi
  mkdir -p "$root/dev/shm" && chmod 1777 "$root/dev/shm"
  [ -e "$root/dev/fd" ] || ln -s /proc/self/fd "$root/dev/fd"
  # shellcheck disable=SC2046  # several words
  set -- g++ $(echo "$2" | tr ',' ' ')
  inside dpkg-query -W "$@" >/dev/null 2>&1 || {
    echo "Installing $* ..."
    { inside apt-get update && inside apt-get install -y --no-install-recommends "$@"; } >"$work/log" 2>&1 ||
      skip "apt-get cannot install $* there: $(tail -n 1 "$work/log")"
  }
  rm -rf --one-file-system "$root/src"
  mkdir "$root/src"
  (cd "$source" && git ls-files -co --exclude-standard -z | tar -c --null --ignore-failed-read -T - 2>/dev/null) |
    tar -x -C "$root/src"
}

: >"$work/rows"
for name; do
  # shellcheck disable=SC2046  # four words
  set -- $(printf '%s' "$matrix" | awk -v name="$name" '$1 == name')
  enter "$2" "$3"
  case " $all_mistakes " in *" $name "*) mistakes=all ;; *) mistakes=some ;; esac
  inside sh /src/tests/compilers/check.sh "${name%-libc++}" "${4:-}" $mistakes $preset >"$work/said" 2>&1 || status=1
  grep -v '^| ' "$work/said"
  grep '^| ' "$work/said" >>"$work/rows"
  leave
done
# The bits of this machine's own compiler, which the others must have, too.
own=${CXX:-g++}
if "$own" -std=c++20 -O2 -march=native -I"$source/include" "$source/tests/odr/bits/program.cpp" -o "$work/bits" \
  -lpthread 2>"$work/said" && "$work/bits" >"$work/hash"
then
  echo "| $own $("$own" -dumpversion) of this machine | - | - | $(sed 's/.* //' "$work/hash") | - | - |" >>"$work/rows"
else
  tail -n 20 "$work/said"
  echo "FAILED: $own: the bits of a training"
  status=1
fi
echo "| compiler | works | sentences | bits of a training | warnings | seconds of 06_mnist |"
echo "|---|---|---|---|---|---|"
cat "$work/rows"
[ "$(awk -F'|' '{ print $5 }' "$work/rows" | sort -u | wc -l)" -eq 1 ] ||
  { echo "FAILED: the bits of these compilers differ"; status=1; }
exit $status
