#!/usr/bin/env bash
# A host that reaches no registry pulls from mirrors, and through a proxy that wants a login: containerd 1.6 and Docker, a real
# registry, a proxy that counts. The password is nowhere it could be seen, and undo leaves nothing.
. "$(dirname "$0")/common"

client=10.77.0.1
login='lab:p@ss/w%rd'

mirrors() { # mirrors ENGINE HTTP-REGISTRY: lines of the cluster file
  cat <<END
runtime: { engine: $1 }
kubernetes: { version: "$(kubernetes_version)" }
mirrors:
  registries:
    docker.io: http://$client:5000
$2
proxy: { http: "http://$client:3128", noProxy: [$client], loginFile: $place/login }
END
}

state() {
  on node "cd /etc && find apt containerd docker systemd gpuadm -printf '%p %y %m %U %G\n' 2>/dev/null; find containerd docker -type f -exec sha256sum {} + 2>/dev/null || :" | sort
}

# Only in two files that only root may read, and in configurations of programs that require it.
is_secret() {
  on node 'grep -rlF -e "p@ss" -e "p%40ss" /etc /var/lib/gpuadm /var/log /run 2>/dev/null' >out 2>err || :
  [ "$(sort out)" = "/etc/apt/apt.conf.d/95gpuadm-proxy
/etc/gpuadm/proxy.env" ] || fail "the password is elsewhere, too"
  on node 'stat -c %a /etc/apt/apt.conf.d/95gpuadm-proxy /etc/gpuadm/proxy.env; systemctl show containerd docker 2>/dev/null | grep -E "p@ss|p%40ss" || echo unseen' >out 2>err
  [ "$(paste -sd' ' out)" = "600 600 unseen" ] || fail "others may see the password"
  lacks -E 'p@ss|p%40ss' .local "$place/shown" || fail "the password is in the run's folder or was shown"
}

leads() { # leads IMAGE ENGINE PULL...
  local image=$1 engine=$2
  shift 2
  a_host node --image "$image"
  state >before
  if [ "$engine" = docker ]; then mirrors docker "" >>cluster.yaml; else mirrors "$engine" "    quay.io: http://registry.lab:5000" >>cluster.yaml; fi
  : >proxied
  exits 0 gpuadm runtime configure -f cluster.yaml -y
  cat out err >shown
  exits 0 "$@" docker.io/lab/pause:1
  ! grep -q 'lab/pause' proxied || fail "what noProxy names went through the proxy"
  if [ "$engine" = containerd ]; then
    # Its mirror has a name that only the proxy knows.
    exits 0 "$@" quay.io/lab/pause:1
    grep -qE '^200 (GET|HEAD) http://registry.lab:5000/v2/lab/pause/' proxied || fail "it did not come through the proxy"
  fi
  # The package manager: nobody is there, and the proxy was asked with the login.
  on node 'echo "deb [trusted=yes] http://packages.lab/ ./" >/run/packages.list; apt-get update -o Dir::Etc::sourcelist=/run/packages.list -o Dir::Etc::sourceparts=-' >out 2>err || :
  grep -q '^502 GET http://packages.lab/' proxied || fail "apt did not ask the proxy"
  # apt is allowed to ask without the login first; nobody else is refused.
  is_secret
  exits 0 gpuadm runtime configure -f cluster.yaml -y
  says "nothing to do"
  exits 0 gpuadm undo -f cluster.yaml --all -y
  state >out 2>err
  diff before out || fail "undo left something"
  lab down node
}

lab up first && lab down first # the network
printf '%s\n' "$login" >login
chmod 600 login
a_registry
serves 30 3128 "$top/tests/lab/proxy" "$client:3128" "$login" "$place/proxied" "registry.lab=$client:5000"
lab net skopeo copy --dest-tls-verify=false "docker-archive:$bundle/images/pause.tar" "docker://$client:5000/lab/pause:1" >out 2>err ||
  fail "the registry takes no image"

docker_pulls() { on node docker pull "$1"; }
leads "$(lab fitting containerd)" containerd lab cri node --pull
if has_dockershim; then leads "$(lab fitting docker)" docker docker_pulls; else leaves_out "Docker: $(no_dockershim)"; fi

# A mirror that answers with a page is refused by name, and its hosts.toml is not written.
mkdir -p page/v2 && echo '<html>Please log in to the hotel</html>' >page/v2/index.html
serves 30 8080 python3 -m http.server --bind "$client" --directory page 8080
a_host node
mirrors containerd "    ghcr.io: http://$client:8080" >>cluster.yaml
exits 1 gpuadm runtime configure -f cluster.yaml -y
says "mirrors.registries.ghcr.io: http://$client:8080/v2/ returns an HTML page"
on node 'test ! -e /etc/containerd/certs.d/ghcr.io' || fail "its hosts.toml is there"

# A login that the proxy does not take is said.
printf 'lab:wrong\n' >login
sed -i "s|ghcr.io: .*|ghcr.io: http://registry.lab:5000|" cluster.yaml
exits 1 gpuadm runtime configure -f cluster.yaml -y
says "the proxy refuses the requests of this host (407)"
