#!/usr/bin/env bash
# purpose=fast and purpose=slow together print the sections of the whole probe, none twice, and the fast half starts nvidia-smi only
# for what changes by itself. nvidia-smi is a double with the recordings of two H200.
. "$(dirname "$0")/common"

recorded=$top/tests/lab/gpu-double/h200x2
mkdir double
cat >double/nvidia-smi <<DOUBLE
#!/bin/sh
echo "\$*" >>$place/started
[ "\$*" != "-q -x" ] || exec cat $recorded/nvidia-smi-q-x.xml
awk -v wanted="### nvidia-smi \$*" '
  found && /^### rc=/ { sub(/^### rc=/, ""); exit }
  found
  \$0 == wanted { found = 1 }
  END { exit !found }' $recorded/commands.txt
DOUBLE
chmod +x double/nvidia-smi
export PATH=$place/double:$PATH
probe() { # probe FILE [PURPOSE [GPUS]]
  : >started
  { echo "purpose=${2:-} gpus=${3:-}" && cat "$top/playbooks/frame.sh" "$top/playbooks/processes.sh" "$top/playbooks/probe.sh"; } | sh -s >"$1"
  mv started "$1.started"
}
# clock, clock-end and machine are in both halves.
sections() { sed -n 's/^=== //p' "$@" | cut -d' ' -f1 | grep -vxE 'clock|clock-end|machine|end' | sort; }

probe whole
probe fast fast
probe slow slow
grep -qx 'topo -m' whole.started || { cp whole.started out && fail "the double was not asked for its topology"; }
sections whole >whole.sections
sections fast slow >halves.sections
diff whole.sections halves.sections >out || fail "the halves have other sections than the whole"
[ -z "$(uniq -d halves.sections)" ] || { uniq -d halves.sections >out && fail "both halves have these sections"; }
printf '%s\n' -L '-q -x' 'nvlink -s' | diff - fast.started >out || fail "the fast half starts other programs"
probe silent slow no
[ ! -s silent.started ] || { cp silent.started out && fail "nvidia-smi was started though it does not answer"; }
