#!/usr/bin/env bash
# containerd 1.6, 1.7 and 2.1, Docker 20.10, 26 and 28, each from awkward starting configurations: after `gpuadm runtime
# configure` the runtime answers, foreign settings stand, containers start on runc and on nvidia (a double that is runc), a
# second time nothing is done, and undo gives the original bytes back.
. "$(dirname "$0")/common"

# in_case NAME PATH: a file below /etc that the case begins with, from stdin.
in_case() { mkdir -p "cases/$1/$(dirname "$2")" && cat >"cases/$1/$2"; }
# foreign NAME TEXT...: what the runtime must still say of its configuration afterwards.
foreign() { printf '%s\n' "${@:2}" >"cases/$1.foreign"; }

containerd_cases() { # containerd_cases IMAGE
  rm -rf cases && mkdir -p cases/none
  on node cat /etc/containerd/config.toml 2>/dev/null | in_case packaged containerd/config.toml
  printf '#   Copyright 2018-2022 Docker Inc.\n\ndisabled_plugins = ["cri"]\n\n#root = "/var/lib/containerd"\n' |
    in_case dockers-package containerd/config.toml
  in_case mirrors containerd/config.toml <<'END'
version = 2 # theirs
[plugins."io.containerd.grpc.v1.cri"]
    max_concurrent_downloads = 7
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.theirs]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.theirs.options]
      BinaryName = "/usr/local/bin/theirs"
[plugins."io.containerd.grpc.v1.cri".registry.mirrors."registry.example"]
  endpoint = ["https://mirror.example.org"]
[debug]
  level = "warn"
END
  chmod 0600 cases/mirrors/containerd/config.toml
  foreign mirrors 'max_concurrent_downloads = 7' /usr/local/bin/theirs mirror.example.org warn
  printf 'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\noom_score = -7\n' | in_case imports containerd/config.toml
  in_case imports containerd/conf.d/99-nvidia.toml <<'END'
version = 2
[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    max_container_log_line_size = 4711
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
        BinaryName = "/usr/bin/nvidia-container-runtime"
        SystemdCgroup = false
END
  foreign imports 4711 'oom_score = -7'
  printf 'version = 2\nplugins."io.containerd.grpc.v1.cri" = { max_container_log_line_size = 4711 }\n' |
    in_case inline containerd/config.toml
  foreign inline 4711
  # containerd 2 reads nothing of it.
  case $1 in *-2) return ;; esac
  printf '[plugins.cri]\n  max_container_log_line_size = 4711\n  [plugins.cri.containerd.runtimes.runc]\n    runtime_type = "io.containerd.runc.v2"\n' |
    in_case version-1 containerd/config.toml
  foreign version-1 4711
}

docker_cases() {
  rm -rf cases && mkdir -p cases/none
  printf '{}' | in_case empty docker/daemon.json
  printf '{"registry-mirrors":["https://mirror.example.org"],"labels":["rack=7"]}' | in_case mirrors docker/daemon.json
  chmod 0600 cases/mirrors/docker/daemon.json
  foreign mirrors mirror.example.org rack=7
  printf '{\n\t"exec-opts": ["native.cgroupdriver=cgroupfs"],\n\t"log-opts": {"max-size": "7m"}, "log-driver": "local"\n}\n' |
    in_case cgroupfs docker/daemon.json
  foreign cgroupfs local
  printf '{"default-runtime": "runc", "runtimes": {"theirs": {"path": "/usr/local/bin/theirs"}}}\n' | in_case runtimes docker/daemon.json
  foreign runtimes theirs
  printf '{"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime", "runtimeArgs": []}}, "shutdown-timeout": 7}\n' |
    in_case nvidia docker/daemon.json
}

# The files that the runtimes read, byte for byte.
state() {
  on node "cd /etc && find containerd docker -printf '%p %y %m %U %G\n' 2>/dev/null; find containerd docker -type f -exec sha256sum {} + 2>/dev/null || :" | sort
}

# begin_with CASE UNIT: the host as the case has it.
begin_with() {
  on node "systemctl stop $2 docker.socket 2>/dev/null; rm -rf /etc/containerd /etc/docker"
  tar -C "cases/$1" -c . | on node "tar -C /etc -x --no-same-owner; systemctl reset-failed $2; systemctl start $2"
}

calls() { on node 'wc -l 2>/dev/null </run/nvidia-container-runtime.calls || echo 0'; }

containerd_serves() { # containerd_serves CASE
  on node containerd config dump >out 2>err
  while read -r text; do says "$text"; done < <(cat "cases/$1.foreign" 2>/dev/null)
  local before after
  before=$(calls)
  exits 0 lab cri node "" lab.local/sleep:1 1
  after=$(calls)
  [ "$before" = "$after" ] || fail "$1: the default runtime is nvidia"
  exits 0 lab cri node nvidia lab.local/sleep:1 1
  [ "$(calls)" -gt "$after" ] || fail "$1: nvidia did not reach its runtime"
}

docker_serves() { # docker_serves CASE
  on node docker info >out 2>err
  while read -r text; do says "$text"; done < <(cat "cases/$1.foreign" 2>/dev/null)
  says "Cgroup Driver: systemd"
  says "Default Runtime: nvidia"
  local before after
  before=$(calls)
  exits 0 on node docker run --rm --network none --runtime runc lab.local/sleep:1 1
  after=$(calls)
  [ "$before" = "$after" ] || fail "$1: runc is nvidia"
  exits 0 on node docker run --rm --network none lab.local/sleep:1 1
  [ "$(calls)" -gt "$after" ] || fail "$1: nvidia did not reach its runtime"
}

# a_runtime IMAGE ENGINE: every case on one host.
a_runtime() {
  local case unit=$2.service
  a_host node --image "$1"
  printf 'runtime: { engine: %s }\nkubernetes: { version: "%s" }\n' "$2" "$(kubernetes_version)" >>cluster.yaml
  tar -C "$top/tests/lab" -c image/runc gpu-double/nvidia-container-runtime |
    on node 'tar -C /tmp -x && install /tmp/image/runc /usr/local/sbin/ && install /tmp/gpu-double/nvidia-container-runtime /usr/bin/'
  for image in pause sleep; do
    if [ "$2" = docker ]; then on node docker load; else on node ctr -n k8s.io images import -; fi <"$bundle/images/$image.tar" >out 2>err
  done
  "${2}_cases" "$1"
  for case in cases/*/; do
    case=$(basename "$case")
    printf '%s: %s\n' "$1" "$case"
    begin_with "$case" "$unit"
    state >before
    exits 0 gpuadm runtime configure -f cluster.yaml -y
    "${2}_serves" "$case"
    exits 0 gpuadm runtime configure -f cluster.yaml -y
    says "nothing to do"
    exits 0 gpuadm undo -f cluster.yaml --all -y
    state >out 2>err
    diff before out || fail "$1: $case: undo left something"
  done
  lab down node
}

runtimes="bookworm-containerd trixie-containerd trixie-containerd-2 bookworm-docker trixie-docker trixie-docker-28"
if ! has_dockershim; then
  runtimes="$(lab fitting containerd)"
  leaves_out "every runtime but $runtimes: they are for older versions of Kubernetes than $(kubernetes_version)"
fi
for runtime in ${RUNTIMES:-$runtimes}; do
  case $runtime in *docker*) a_runtime "$runtime" docker ;; *) a_runtime "$runtime" containerd ;; esac
done
