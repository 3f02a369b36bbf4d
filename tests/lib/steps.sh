# shellcheck shell=bash disable=SC2016,SC2154
# Functions of steps, as the program carries them, in a shell of their own that keeps in $place/host what it keeps of a host.

# in_step TEXT: behind functions that stand before steps: those of $step_files, by default gpu and verify. What $place/bin has is found first.
in_step() {
  local file
  {
    for file in prelude package-managers packages processes ${step_files:-gpu verify}; do "$GPUADM" assets show "playbooks/$file.sh"; done
    printf 'PATH=%s/bin:$PATH gpuadm_home=%s/host\n' "$place" "$place"
    printf 'gpuadm_journal=$gpuadm_home/journal gpuadm_run=run gpuadm_client=client gpuadm_owner=owner gpuadm_step=step gpuadm_proxy_file=$gpuadm_home/proxy.env\n'
    printf 'unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY\nmkdir -p "$gpuadm_home"\nset -eu\n%s\n' "$1"
  } >step.sh
  sh step.sh
}

# script FILE STEP check|apply: the text of a script of playbooks/FILE, for every family.
script() {
  "$GPUADM" assets show "playbooks/$1" | awk -v id="$2" -v part="$3:" '
    /^- id: / { mine = $3 == id }
    /^ ? ? ? ?[^ ]/ { wanted = mine && $1 == part; next }
    wanted { print substr($0, 7) }'
}
