#include "kube/log/logs.hpp"

namespace kube::pod {

namespace {

// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html and troubleshooting.html
constexpr std::array<Pattern, 8> patterns_of_nccl = {
    {{{"no socket interface found", "no usable*interface", "no interface found", "ifname*not found"},
      "nccl-interface",
      "NCCL finds no network interface in container {container}: {line}",
      "remove NCCL_SOCKET_IFNAME, or set it to an interface of the pod: eth0"},
     {{"peer access is not supported", "cuda failure 217", "cuda ipc handle", "p2p*not supported"},
      "nccl-peer-access",
      "the GPUs of container {container} cannot access each other's memory: {line}",
      "set NCCL_P2P_DISABLE=1"},
     {{"mismatched nccl version", "nccl version mismatch"},
      "nccl-versions",
      "the ranks of container {container} use different versions of NCCL: {line}",
      "use the same image for all ranks"},
     {{"net/ib*status=", "net/ib*got completion", "net/ib*async event", "net/ib*port error", "ibv_*failed",
       "roce*gid", "ibv_modify_qp"},
      "nccl-infiniband",
      "a transfer over InfiniBand or RoCE failed in container {container}: {line}",
      "gpuadm doctor {node} --only rdma; check NCCL_IB_HCA and NCCL_IB_GID_INDEX; NCCL_IB_DISABLE=1 uses "
      "TCP"},
     {{"closed by remote peer", "connection closed by peer [", "gloo*connection reset by peer",
       "store*connection reset by peer", "store*broken pipe", "remote process exited"},
      "peer-ended",
      "another rank ended before container {container}, and closed its connection: {line}",
      "kubectl -n {namespace} logs {peer} || read the logs of the other ranks: the one that ended first has "
      "the reason"},
     {{"watchdog caught collective operation timeout", "collective operation timeout"},
      "collective-timeout",
      "a collective operation timed out in container {container}: another rank hangs or has ended",
      "read the logs of the other ranks for one that ended or waits; TORCH_NCCL_TRACE_BUFFER_SIZE=2000 "
      "records the operations of all ranks"},
     {{"store based barrier", "store_based_barrier", "waiting for clients*timed out",
       "timed out waiting for clients", "rendezvous*timed out", "rendezvoustimeouterror"},
      "ranks-missing",
      "not all ranks have started, or reach the first one, before the timeout of container {container}: "
      "{line}",
      "gpuadm train check; the pods of all ranks must run at the same time"},
     {{"client socket has failed to connect", "client socket has timed out", "nccl*no route to host",
       "nccl*connection refused", "nccl*connection timed out", "nccl*connect to*returned"},
      "rank-unreachable",
      "a rank in container {container} does not reach the other ranks: {line}",
      "gpuadm train check; the ranks must start at the same time"}}};

}  // namespace

std::span<const Pattern> nccl_patterns() {
  return patterns_of_nccl;
}

}  // namespace kube::pod
