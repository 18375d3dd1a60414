#!/bin/sh
# The program tests/dist/mpi under each mpirun that is installed, and what wrong set-ups say: `mpi.sh TEST COMPILER`.
set -u
test=$1 compiler=$2
. "$(dirname "$0")/ranks.sh"

launchers=
for name in mpirun.openmpi mpirun.mpich; do
  ! command -v $name >/dev/null || launchers="$launchers $name"
done
[ -n "$launchers" ] || ! command -v mpirun >/dev/null || launchers=mpirun
[ -n "$launchers" ] || { echo "SKIPPED: no mpirun is installed (apt-get install openmpi-bin)"; exit 77; }

for launcher in $launchers; do
  for ranks in 1 2 4; do
    timeout 60 "$launcher" -n $ranks "$test" >"$dir/out" 2>&1 && ! grep -q SKIPPED "$dir/out" && continue
    cat "$dir/out"
    fail "$launcher -n $ranks"
  done
done

# says WORDS VARIABLES COMMAND...: the command fails, and says these words in one line.
says() {
  words=$1
  shift
  timeout 100 env "$@" >"$dir/out" 2>&1 && fail "ends well: $*"
  grep -qF -- "$words" "$dir/out" || { cat "$dir/out"; fail "does not say \"$words\": $*"; }
}
cat >"$dir/program.cpp" <<'END'
#include <sys/wait.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tenon/dist/mpi.hpp>
int main(int count, char** words) try {
  const std::string how = count > 1 ? words[1] : "";
  tenon::dist::init("mpi", {.timeout_seconds = how == "waits" ? 1.0 : 0});
  if (tenon::dist::get_rank() == 1) {
    if (how == "fails") return 3;
    if (how == "ends" || how == "splits") return 0;
    if (how == "is-killed") std::raise(SIGKILL);
    if (how == "waits") ::sleep(60);
    if (how == "forks") {  // children that end well, or not, are no ranks
      for (const int status : {0, 3}) {
        const pid_t child = ::fork();
        if (child == 0) std::exit(status);
        int ended = 0;
        ::waitpid(child, &ended, 0);
        if (WEXITSTATUS(ended) != status) return 4;
      }
      ::usleep(900000);  // the others would hear now that this rank has ended
    }
  }
  if (how == "splits") tenon::dist::communicator().split(0, 0);
  float sum = 1;
  tenon::dist::all_reduce<float>(tenon::dist::communicator(), tenon::dist::ReduceOp::sum, {&sum, 1});
} catch (const tenon::Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
END
# a loader that finds no library of some name
cat >"$dir/without.cpp" <<'END'
#include <dlfcn.h>
#include <cstdlib>
#include <cstring>
extern "C" void* dlopen(const char* name, int mode) {
  if (name && std::strstr(name, std::getenv("WITHOUT"))) return nullptr;
  return reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"))(name, mode);
}
END
root=$(cd "$(dirname "$0")/../.." && pwd)
"$compiler" -std=c++20 -O1 -I"$root/include" "$dir/program.cpp" -lpthread -ldl -o "$dir/program" || exit 1
"$compiler" -shared -fPIC "$dir/without.cpp" -ldl -o "$dir/without.so" || exit 1
# libraries of these names that are too old, or none
mkdir "$dir/empty" "$dir/old"
echo 'int nothing;' | "$compiler" -shared -fPIC -x c++ - -o "$dir/empty/libmpi.so.40" || exit 1
echo 'int ompi_mpi_comm_world;' | "$compiler" -shared -fPIC -x c++ - -o "$dir/old/libmpich.so.12" || exit 1
says 'libmpi.so.40 has no symbol ompi_mpi_comm_world, which dist::init("mpi") needs: it is no MPI 3 or later' \
  LD_LIBRARY_PATH="$dir/empty" OMPI_COMM_WORLD_SIZE=2 "$dir/program"
says 'libmpich.so.12 is that of an Open MPI older than 3: install a later one' \
  LD_LIBRARY_PATH="$dir/old" PMI_SIZE=2 "$dir/program"
none="LD_PRELOAD=$dir/without.so WITHOUT=libmpi"
says 'finds no MPI (libmpi.so.40; libmpich.so.12; libmpi.so.12): install Open MPI' $none "$dir/program"
says 'install it (on Debian: apt-get install openmpi-bin)' $none OMPI_COMM_WORLD_SIZE=2 "$dir/program"
says 'install it (on Debian: apt-get install mpich)' $none PMI_SIZE=2 "$dir/program"
# ranks that end without dist::release touch no memory that is gone. The sanitizer and the hooks of UCX (in MPICH) and
# of Open MPI 5 exclude each other; what MPI keeps until the end is its own.
"$compiler" -std=c++20 -O1 -fsanitize=address -I"$root/include" "$dir/program.cpp" -lpthread -ldl -o "$dir/checked" ||
  echo "SKIPPED: the end of ranks under the address sanitizer, which $compiler has not"
for launcher in $launchers; do
  [ -x "$dir/checked" ] || break
  timeout 100 env UCX_MEM_EVENTS=no OMPI_MCA_memory=^patcher ASAN_OPTIONS=detect_leaks=0 \
    "$launcher" -n 3 "$dir/checked" well >"$dir/out" 2>&1 && continue
  cat "$dir/out"
  fail "$launcher -n 3 program well, with the address sanitizer"
done
for launcher in $launchers; do
  timeout 60 "$launcher" -n 3 "$dir/program" forks >"$dir/out" 2>&1 </dev/null && [ ! -s "$dir/out" ] && continue
  cat "$dir/out"
  fail "$launcher -n 3 program forks"
done
for launcher in $launchers; do
  # a rank that ends, however, ends the others, which wait for it
  case $launcher in
    *mpich*) killed='Killed (signal 9)' ;;  # it names the process alone
    *) killed='process rank 1 with PID' ;;
  esac
  while IFS=: read -r how words; do
    timeout 20 "$launcher" -n 3 "$dir/program" "$how" >"$dir/out" 2>&1 </dev/null
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -qF -- "$words" "$dir/out" && continue
    cat "$dir/out"
    fail "$launcher -n 3 program $how: status $status, and not \"$words\""
  done <<END
fails:Rank 1 of 3 ends with status 3.
is-killed:$killed
ends:Rank 1 has ended without the message that rank
splits:Rank 1 has ended without the message that rank
waits:has waited for rank 1 for 1 s, the timeout of dist::init: rank 1 is stuck, or slow.
END
done
# a program that has loaded another MPI than that of mpirun
case $launchers in
  *openmpi*mpich*) says 'of different MPIs' mpirun.mpich -n 2 -genv LD_PRELOAD libmpi.so.40 "$dir/program" ;;
  *) echo "SKIPPED: a program with another MPI than that of mpirun (apt-get install openmpi-bin mpich)" ;;
esac
exit $failed
