#!/usr/bin/env bash
# The kubeconfig of the user who came through sudo: written as that user, with and without runuser; where ~/.kube is a symbolic link, nothing is
# written, given to the user or removed behind it.
. "$(dirname "$0")/common"

mkdir -p etc homes/mallory elsewhere/cache/deep
chown "$mallory:" homes/mallory
printf 'apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: AAAA\nusers:\n- name: kubernetes-admin\n  user: kubernetes-admin\n  user: kubernetes-admin\n' >etc/admin.conf
chmod 0600 etc/admin.conf
touch elsewhere/cache/deep/file elsewhere/config.old

# home RUN [FILE...]: a step with that home and that admin.conf; root's own home is left out.
home() {
  local run=$1
  shift
  {
    echo "SUDO_USER=$mallory"
    echo "getent() { if [ \"\$*\" = 'passwd $mallory' ]; then echo 'x:x:1:1:x:$place/homes/mallory:/bin/sh'; elif [ \"\$*\" = 'passwd root' ]; then echo 'x:x:0:0:x:$place/homes/root:/bin/sh'; else command getent \"\$@\"; fi; }"
    [ -z "${without:-}" ] || echo "have() { [ \"\$1\" != $without ] && command -v \"\$1\" >/dev/null 2>&1; }"
  } >definitions
  cat >body
  step "$run" "$@" < <(cat definitions body)
}
# before.sh asks where homes are while it is read.
sed_in_files() {
  mkdir -p books && cp "$playbooks"/*.sh books/ && mkdir -p books/kubernetes && cp "$playbooks"/kubernetes/kubeconfig.yaml books/kubernetes/
  sed -i "s|/etc/kubernetes/admin.conf|$place/etc/admin.conf|g" books/*.sh books/kubernetes/*.yaml
  sed -i "/^# --- The journal/e cat $place/definitions" books/prelude.sh
}
mkdir homes/root
: >definitions
home none <<<: # writes the definitions
sed_in_files
playbooks=$place/books
install_step() { # of the step's own text, whatever stands in it
  python3 - books/kubernetes/kubeconfig.yaml <<'END'
import sys, yaml
step = yaml.safe_load(open(sys.argv[1]))[0]["shell"]
print("(\nset -eu\n" + step["check"] + ") && exit 0\n" + step["apply"] + "(\nset -eu\n" + step["check"] + ") || exit 9\n")
END
}
more=static-pods.sh
[ ! -e books/kubeconfigs.sh ] || more=kubeconfigs.sh

installs() { home "$1" before.sh "$more" < <(install_step); }

# As usual.
for without in '' runuser; do
  rm -rf homes/mallory/.kube
  installs "plain$without"
  [ "$status" = 0 ] || fail "the kubeconfig was not installed"
  [ "$(stat -c '%a %U' homes/mallory/.kube/config)" = "600 $mallory" ] || fail "the kubeconfig is $(stat -c '%a %U' homes/mallory/.kube/config)"
  [ "$(stat -c %U homes/mallory/.kube)" = "$mallory" ] || fail "the folder is not theirs"
  [ "$(stat -c '%a %U' homes/root/.kube/config)" = "600 root" ] || fail "root's kubeconfig"
  cmp -s etc/admin.conf homes/mallory/.kube/config || fail "another kubeconfig"
  # A run that is killed now does not end the step.
  grep -q "^+file	$place/homes/mallory/.kube/config	was 600 $(id -u "$mallory") [0-9]* $(stat -c %.9Y homes/mallory/.kube/config) " home/journal/log ||
    fail "the new state of the kubeconfig is not in the journal: $(cat home/journal/log)"
done
without=
rm -rf homes/mallory/.kube homes/root/.kube home

# A link, to a folder of root's.
as "$mallory" -- ln -s "$place/elsewhere" homes/mallory/.kube
installs link
[ "$(stat -c %U elsewhere elsewhere/cache | sort -u)" = root ] || fail "what ~/.kube leads to was given away"
[ ! -e elsewhere/config ] || fail "an administrator's kubeconfig was written behind the link"
[ "$status" = 0 ] || fail "a link in a home ends init"
complains "homes/mallory/.kube/config is not written: $place/homes/mallory/.kube is a symbolic link"

# What kubectl has read of clusters: listed before there is a cluster, and removed afterwards.
home before before.sh <<<'before_note'
touch elsewhere/cache/deep/new
home after before.sh static-pods.sh reset.sh <<END
reset_virtual_address() { :; }
reset_by_kubeadm() { :; }
reset_mounts() { :; }
reset_claims() { :; }
gpuadm_trees=$place/homes/mallory/.kube/cache
rm() { case "\$*" in *"/var/run/kubernetes"*) ;; *) command rm "\$@" ;; esac; }
reset_state
END
[ -e elsewhere/cache/deep/new ] || fail "reset removed what is behind the link"
rm homes/mallory/.kube

# Without a link it is removed, except for existing files.
as "$mallory" -- mkdir -p homes/mallory/.kube/cache
as "$mallory" -- touch homes/mallory/.kube/cache/old
rm -rf home/before
home before before.sh <<<'before_note'
# shellcheck disable=SC2016 # of the inner shell
as "$mallory" -- sh -c 'mkdir homes/mallory/.kube/cache/d && touch homes/mallory/.kube/cache/d/new && ln -s "$1" homes/mallory/.kube/cache/link' sh "$place/elsewhere"
home after before.sh static-pods.sh reset.sh <<END
reset_virtual_address() { :; }
reset_by_kubeadm() { :; }
reset_mounts() { :; }
reset_claims() { :; }
gpuadm_trees=$place/homes/mallory/.kube/cache
rm() { case "\$*" in *"/var/run/kubernetes"*) ;; *) command rm "\$@" ;; esac; }
reset_state
END
[ "$(ls -A homes/mallory/.kube/cache)" = old ] || fail "the cache is not as it was: $(ls -A homes/mallory/.kube/cache)"
[ -e elsewhere/config.old ] || fail "removed behind a link"

# A renewed certificate goes to copies of admin.conf, and not through links.
echo '# renewed' >>etc/admin.conf
rm -rf homes/mallory/.kube && as "$mallory" -- mkdir homes/mallory/.kube
secret
printf 'clusters:\n- cluster:\n    certificate-authority-data: AAAA\nusers:\n  user: kubernetes-admin\n' >copy && chmod 0600 copy
cp copy elsewhere/config
as "$mallory" -- ln -s "$place/elsewhere/config" homes/mallory/.kube/config
home renew before.sh "$more" <<<'kubeconfigs_refresh'
cmp -s copy elsewhere/config || fail "the kubeconfig behind the link was written"
rm homes/mallory/.kube/config
cp copy homes/mallory/.kube/config && chown "$mallory:" homes/mallory/.kube/config
plant homes/mallory/.kube/config
home renew before.sh "$more" <<<'kubeconfigs_refresh'
secret_is_safe
cmp -s etc/admin.conf homes/mallory/.kube/config || fail "the copy was not renewed"
[ "$(stat -c '%a %U' homes/mallory/.kube/config)" = "600 $mallory" ] || fail "the copy is $(stat -c '%a %U' homes/mallory/.kube/config)"
