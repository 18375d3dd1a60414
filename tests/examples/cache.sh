#!/bin/sh
# tenon-cache says what MindSpore's cache_admin says: `cache.sh PROGRAM`. Writes to the current folder.
set -u
program=$1
rm -rf cache && mkdir -m 700 cache && cd cache || exit 1
TENON_CACHE_FOLDER=$PWD/kept
export TENON_CACHE_FOLDER
faults=0
fault() { echo "FAILED: $*"; faults=1; }

# says STATUS TEXT arguments: the exit status, and a text in what is printed.
says() {
  wanted=$1 part=$2
  shift 2
  timeout 600 "$program" "$@" >out 2>&1
  status=$?
  [ $status -eq "$wanted" ] || fault "tenon-cache $*: exit status $status, not $wanted: $(head -n 3 out)"
  grep -qF -e "$part" out || fault "tenon-cache $*: does not say \`$part\`, but: $(head -n 5 out)"
}
# line NUMBER TEXT: a line of what was printed last.
line() { [ "$(sed -n "$1p" out)" = "$2" ] || fault "line $1 is \`$(sed -n "$1p" out)\`, not \`$2\`"; }

# ---- what is wrong with a command
says 1 "No command provided"
says 1 "No command provided" -p 50053
says 1 "Only one command at a time is allowed.  Invalid command: --stop" --start --stop
says 1 "Only one command at a time is allowed.  Invalid command: -g" -d 5 -g
says 1 "Port must be in range (1025..65535)." -g -p 1024
says 1 "Port must be in range (1025..65535)." -g --port 65536
says 1 "Invalid numeric value: fast" -g -p fast
says 1 "Invalid numeric value: -1" -d -1
says 1 "The --port argument was given more than once." -g -p 2000 --port 2001
says 1 "Invalid host interface: elsewhere. Current limitation, only 127.0.0.1 can be used." -g -h elsewhere
says 1 "Number of workers must be in range of 1 and " --start -w 0
says 1 "Log level must be in range (0..3)." --start -l 4
says 1 "Memory cap ratio should be positive and no greater than 1" --start -r 1.5
says 1 "Invalid arguments provided:  now" --start now
says 1 "The backend is lmdb or redis" --start --backend none
says 1 "--destroy_session" -d
says 0 "--list_sessions" --help
[ ! -e kept ] || fault "commands that were refused have made a folder"

# ---- sessions
says 0 "Cache server startup completed successfully!" --start
says 0 "No active sessions." --list_sessions
says 0 "Session created for server on port 50052: " -g
first=$(sed 's/.*: //' out)
says 0 "Listing sessions for server on port 50052" --list_sessions
line 2 ""
line 3 "     Session    Cache Id  Mem cached Disk cached  Avg cache size  Numa hit"
line 4 "$(printf '%12s' "$first")         n/a         n/a         n/a             n/a       n/a"
says 0 "Session created for server on port 2000: " --generate_session --port 2000
says 0 "No active sessions." --list_sessions -p 2001
says 0 "            hostname      127.0.0.1" --server_info
line 1 "Cache Server Configuration: "
says 0 "                port          50052" --server_info
says 0 "$first  " --server_info
says 1 "Session id 1 not found for server on port 50052." -d 1
says 0 "Drop session successfully for server on port 50052" -d "$first"
says 1 "not found" --destroy_session "$first"
says 0 "Cache server on port 2000 has been stopped successfully." --stop -p 2000
says 0 "No active sessions." --server_info -p 2000
[ -z "$(ls kept)" ] || fault "something is left: $(ls -R kept)"

# ---- a folder that others may write in
mkdir open && chmod 777 open
says 1 "chmod 700" -g -s open

# ---- Redis
if timeout 60 "$program" --list_sessions --backend redis -p 50051 2>&1 | grep -q "built without hiredis"; then
  echo "SKIPPED: tenon-cache was built without hiredis"
elif ! redis-server --version >/dev/null 2>&1; then
  echo "SKIPPED: redis-server is not installed"
else
  port=$((20000 + $$ % 12000))  # below 32768, where connections of others begin
  redis() { wanted=$1 part=$2; shift 2; says "$wanted" "$part" --backend redis -p $port "$@"; }
  redis 1 "start one: tenon-cache --backend redis --start" -g
  redis 0 "The cache server daemon has been created as process id " --start -m 1
  pid=$(sed -n 's/.*process id \([0-9]*\) .*/\1/p' out)
  redis 1 "Cache server on port $port is already up and running." --start
  redis 0 "Session created for server on port $port: " -g
  session=$(sed 's/.*: //' out)
  redis 0 "$(printf '%12s' "$session")         n/a" --list_sessions
  says 1 "was not started by tenon-cache with this folder" --backend redis -p $port --stop -s other
  kill -9 "$pid"
  for _ in $(seq 600); do  # it listens until the kernel has ended it
    "$program" --backend redis -p $port --list_sessions 2>&1 | grep -qF "Connection refused" && break
    sleep 0.05
  done
  redis 1 "Connection refused" --list_sessions
  redis 0 "Cache server startup completed successfully!" --start
  redis 0 "No active sessions." --list_sessions
  redis 0 "Cache server on port $port has been stopped successfully." --stop
  redis 1 "Server on port $port is not up or has been shutdown already." --stop
  [ -z "$(ls kept)" ] || fault "something is left: $(ls -R kept)"
fi
exit $faults
