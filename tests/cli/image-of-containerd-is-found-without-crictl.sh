#!/usr/bin/env bash
# playbooks/read/image.sh without crictl: what containerd has, and the configuration of an image. The answers of ctr are those of containerd
# 2.1 for an image of one platform.
. "$(dirname "$0")/common"
[ "$(id -u)" = 0 ] || skip "needs root: the script has a folder in /run"

manifest=sha256:c6fa3e34254556778e074d6ef1c9a642d1595a53e2207c2924e8d577f4ac6e79
config=sha256:e6edd86ab1520804e8b3a7301f4f4cc329a9f77afc5f24da2b364b3f13898c2c
mkdir bin
cat >bin/ctr <<END
#!/bin/sh
case "\$*" in
  *'images ls name==lab.local/notebook:1')
    echo 'REF                  TYPE                                                 DIGEST                                                                  SIZE     PLATFORMS   LABELS'
    echo 'lab.local/notebook:1 application/vnd.docker.distribution.manifest.v2+json $manifest 73.9 MiB linux/amd64 io.cri-containerd.image=managed'
    ;;
  *'images ls name==lab.local/other:1') echo 'REF TYPE DIGEST SIZE PLATFORMS LABELS' ;;
  *'images ls '*) echo 'ctr: cannot access socket' >&2 && exit 1 ;;
  *"content get $manifest")
    printf '%s' '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"mediaType":"application/vnd.docker.container.image.v1+json","digest":"$config","size":403},"layers":[]}'
    ;;
  *"content get $config") printf '{"architecture":"amd64",\n\t"os":"linux","config":{"Env":["PATH=/usr/bin"]}}' ;;
  *) exit 1 ;;
esac
END
chmod +x bin/ctr
for program in sh awk sed tr head tail cut cat rm rmdir mktemp timeout printf; do ln -s "$(type -P "$program")" "bin/$program"; done

# reads NAME: the lines for an image that the kubelet does not pull.
reads() {
  { printf "socket=/run/containerd/containerd.sock programs=''\nimages='%s\tlab.local\tx\t1\tnever'\n" "$1" && cat "$top/playbooks/read/image.sh"; } |
    env -i PATH="$place/bin" sh >out 2>err || fail "exit status $?"
}
reads lab.local/notebook:1
says "$(printf 'image\tlab.local/notebook:1\tpresent')"
says "$(printf 'config\tlab.local/notebook:1\t{"info":{"imageSpec":{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/bin"]}}}}')"
reads lab.local/other:1
says "$(printf 'image\tlab.local/other:1\tabsent')"
hides config
reads lab.local/third:1
says "$(printf 'image\tlab.local/third:1\tunknown\tctr: cannot access socket')"
