# For scripts that start ranks: `. "$(dirname "$0")/ranks.sh"`. A folder `$dir`, which goes at the end, `fail WORDS`,
# `$failed` for the exit status, and what ranks on one machine need of Open MPI.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
# of Open MPI 4 (5 reads the PRTE ones): more ranks than processors, root in a container
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# UCX reports on the output of ranks what it does not find in a container
export UCX_LOG_LEVEL=fatal
