#include "kube/log/logs.hpp"

namespace kube::pod {

namespace {

/// Of the error itself only: programs report such failures also when they repeat a request and continue.
constexpr std::array<Pattern, 24> patterns_of_errors = {
    {{{"GatedRepo", "gated repo", "awaiting a review"},
      "hub-gated",
      "container {container} may not download from a gated repository",
      "accept its license on the page of the model, and set HF_TOKEN from a Secret"},
     {{"401 Client Error", "HTTP/1.1 401", "401 Unauthorized", "Invalid user token"},
      "download-unauthorized",
      "a server refuses a download of container {container}: 401, it does not accept the login",
      "set a valid token from a Secret (HF_TOKEN of Hugging Face); a repository that does not exist is "
      "answered like this, too"},
     {{"403 Client Error", "403 Forbidden"},
      "download-forbidden",
      "a server refuses a download of container {container}: 403, the login has no access",
      "accept the conditions on the page of the repository, or use a token with read access"},
     {{"429 Client Error", "429 Too Many Requests", "Too Many Requests for url", "status code 429"},
      "download-rate-limit",
      "a server limits the downloads of container {container}: 429, too many requests",
      "set a token (HF_TOKEN), or download once to a volume: gpuadm storage claim"},
     {{"404 Client Error", "RevisionNotFoundError", "EntryNotFoundError"},
      "download-not-found",
      "what container {container} downloads does not exist: 404",
      "correct the name or the revision"},
     {{"CERTIFICATE_VERIFY_FAILED", "certificate verify failed", "SSL certificate problem"},
      "certificate-not-trusted",
      "container {container} does not trust the certificate of a server",
      "add the CA certificate to the image: SSL_CERT_FILE, REQUESTS_CA_BUNDLE"},
     {{"name resolution", "Name or service not known", "Could not resolve host", "dial tcp: lookup",
       "getaddrinfo", "NameResolutionError", "bad address '", "Temporary failure in name"},
      "name-not-resolved",
      "container {container} cannot resolve the name of a host: {line}",
      "gpuadm verify; without internet access, read the files from a volume"},
     {{"Network is unreachable", "No route to host", "Connection timed out", "ConnectTimeout",
       "couldn't connect to 'https://", "Max retries exceeded"},
      "server-unreachable",
      "container {container} cannot reach a server: {line}",
      "check its address; gpuadm verify; behind a proxy set HTTPS_PROXY; without internet access, read the "
      "files "
      "from a volume"},
     {{"Permission denied (publickey", "Permission denied, please try again"},
      "ssh-refused",
      "a server refuses the SSH key of container {container}: {line}",
      "mount the key from a Secret with defaultMode 0400, and add its public key to authorized_keys"},
     {{"Error from server (Forbidden)", "is forbidden: User"},
      "api-forbidden",
      "the ServiceAccount of container {container} has no right to use the API of the cluster: {line}",
      "give it a Role with a RoleBinding: kubectl -n {namespace} create rolebinding -h"},
     {{"Permission denied: '", "Permission denied: \"", "permission denied (os error 13)",
       "/*permission denied", "permission denied*/", "EACCES", "cannot create directory",
       "AccessDeniedException"},
      "folder-not-writable",
      "container {container} has no permission for a file or folder: {line}",
      "set HOME, HF_HOME or XDG_CACHE_HOME to a folder of a volume, or securityContext.fsGroup"},
     {{"Read-only file system", "EROFS"},
      "read-only",
      "container {container} writes to a file system that is read-only: {line}",
      "remove readOnly from the volumeMount {read_only_mount} of container {container}, or write to another "
      "folder || mount a volume at that folder"},
     {{"getpwuid(): uid not found", "no such user: uid", "cannot find name for user ID"},
      "user-without-name",
      "the user ID of container {container} has no name in its image: {line}",
      "set the environment variables USER and HOME, or securityContext.runAsUser to a user of the image"},
     {{"address already in use", "EADDRINUSE"},
      "port-in-use",
      "a port of container {container} is already in use: {line}",
      "use another port; with hostNetwork, a program or pod of node {node} may use it"},
     {{"env: '*\\r'", "^M: bad interpreter", "$'\\r': command not found", "env: *\r"},
      "script-line-ends",
      "a script of container {container} has the line ends of Windows: {line}",
      "convert it before it is copied into the image: sed -i 's/\\r$//' FILE"},
     {{"exec /*: no such file or directory", "bad interpreter: no such file"},
      "script-interpreter",
      "the interpreter of a script in container {container} does not exist, or the script has the line ends "
      "of "
      "Windows: {line}",
      "correct its first line, or convert it: sed -i 's/\\r$//' FILE"},
     {{"can't start new thread", "pthread_create failed", "cannot create thread",
       "fork: Resource temporarily", "unable to create*native thread", "fork/exec*resource temporarily"},
      "process-limit",
      "container {container} reached a limit of processes and threads",
      "increase podPidsLimit of the kubelet, or start fewer threads: OMP_NUM_THREADS, workers of data "
      "loaders"},
     {{"Too many open files", "inotify watch limit"},
      "open-files-limit",
      "container {container} reached a limit of open files: {line}",
      "ulimit -n in its command, LimitNOFILE of the container runtime; gpuadm doctor {node} --only kernel"},
     {{"version `GLIBC", "version `CXXABI", "version 'GLIBC"},
      "library-too-old",
      "a program in the image {image} needs a newer C or C++ library than the image has: {line}",
      "use an image with a newer distribution, or build the program in this image"},
     {{"undefined symbol:", "symbol lookup error"},
      "library-mismatch",
      "a library in the image {image} was built for another version of the one that it uses: {line}",
      "install versions that belong together; build extensions of PyTorch for the PyTorch of the image"},
     {{"CUDA_HOME does not exist", "CUDA_HOME environment variable is not set", "nvcc*not found",
       "nvcc*no such file"},
      "cuda-toolkit-missing",
      "the image {image} has no CUDA toolkit, and its program compiles code for the GPU: {line}",
      "use an image with the toolkit, such as nvidia/cuda:TAG-devel"},
     {{"MetadataIncompleteBuffer", "Error while deserializing header", "HeaderTooLarge",
       "PytorchStreamReader failed", "file is truncated", "not within the file bounds"},
      "model-file-damaged",
      "a model file of container {container} is incomplete or damaged: {line}",
      "download it again"},
     {{"make sure you don't have a local directory with the same name"},
      "model-incomplete",
      "container {container} does not find all files of a model: {line}",
      "correct the path or the name of the model; without internet access, the folder must have all its "
      "files"},
     {{"exec format error"},
      "exec-format",
      "container {container} has a program for another architecture than node {node}, or a script without an "
      "interpreter",
      "use an image for the architecture of the node"}}};

}  // namespace

std::span<const Pattern> error_patterns() {
  return patterns_of_errors;
}

}  // namespace kube::pod
