# shellcheck shell=sh disable=SC2154
# gpuadm-resume.service runs this program once at the next boot to resume the command "$@". The command and the variables
# resume_user, resume_directory and resume_log precede it. It first removes itself, so that it does not run at a later boot.
systemctl disable --quiet gpuadm-resume.service
rm -f /etc/systemd/system/gpuadm-resume.service "$0"
systemctl daemon-reload

# Waits up to ten minutes until the boot is complete and the API server of this machine, if it has one, responds.
resume_end=$(($(date +%s) + 600))
resume_until() {
  until "$@"; do
    [ "$(date +%s)" -lt "$resume_end" ] || return 0
    sleep 2
  done
}
boot_is_complete() { case $(systemctl is-system-running 2>/dev/null) in initializing | starting) return 1 ;; esac }
api_server_answers() {
  [ ! -f /etc/kubernetes/manifests/kube-apiserver.yaml ] ||
    kubectl --kubeconfig /etc/kubernetes/controller-manager.conf --request-timeout=5s get --raw /healthz >/dev/null 2>&1
}
resume_until boot_is_complete
resume_until api_server_answers

cd "$resume_directory" || cd /
# shellcheck disable=SC2016 # of the inner shell
exec runuser -u "$resume_user" -- sh -c 'umask 077; log=$1; shift; exec "$@" </dev/null >>"$log" 2>&1' sh "$resume_log" "$@"
