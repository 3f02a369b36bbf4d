# shellcheck shell=sh
# The command of the ranks of `gpuadm train check`: an all-reduce in the image of the job (all-reduce.py), if it has PyTorch. Runs in the
# folder of both files. Prints a line for gpuadm in any case. Arguments: the Pythons of the job's own command, which are tried first.
found='' has_torch=''
for python in "$@" python3 python; do
  command -v "$python" >/dev/null 2>&1 || continue
  found=$python
  "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null || continue
  has_torch=$python
  break
done
[ -z "$has_torch" ] || exec "$has_torch" all-reduce.py
if [ -n "$found" ]; then why="its $found has no module torch"; else why='it has no python3'; fi
printf 'gpuadm-all-reduce {"torch": null, "why": "%s"}\n' "$why"
