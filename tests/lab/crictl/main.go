// A small stand-in for crictl, which Debian does not have: the commands that kubeadm 1.20 runs, over the kubelet's own interface (CRI
// v1alpha2). Every other command ends with status 1 and says so.
//
//	crictl [-r ENDPOINT] version | info | pods [-q] | stopp ID... | rmp [-a] [-f] [ID...] | pull IMAGE | inspecti IMAGE
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1alpha2"
)

const deadline = 10 * time.Minute

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "crictl (stand-in):", err)
		os.Exit(1)
	}
}

func main() {
	endpoint, words, flags := "/run/containerd/containerd.sock", []string{}, map[string]bool{}
	for i := 1; i < len(os.Args); i++ {
		switch word := os.Args[i]; {
		case (word == "-r" || word == "--runtime-endpoint" || word == "-t") && i+1 < len(os.Args):
			if i++; word != "-t" {
				endpoint = strings.TrimPrefix(os.Args[i], "unix://")
			}
		case strings.HasPrefix(word, "-"):
			flags[strings.Trim(word, "-")[:1]] = true
		default:
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		check(fmt.Errorf("which command?"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	dial := func(ctx context.Context, path string) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) }
	runtime, err := grpc.DialContext(ctx, endpoint, grpc.WithInsecure(), grpc.WithContextDialer(dial))
	check(err)
	run(ctx, cri.NewRuntimeServiceClient(runtime), cri.NewImageServiceClient(runtime), words[0], words[1:], flags)
}

func run(ctx context.Context, pods cri.RuntimeServiceClient, images cri.ImageServiceClient, command string, words []string, flags map[string]bool) {
	list := func() []*cri.PodSandbox {
		answer, err := pods.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
		check(err)
		return answer.Items
	}
	switch command {
	case "version", "info":
		answer, err := pods.Version(ctx, &cri.VersionRequest{})
		check(err)
		fmt.Printf("RuntimeName:  %s\nRuntimeVersion:  %s\nRuntimeApiVersion:  %s\n", answer.RuntimeName, answer.RuntimeVersion, answer.RuntimeApiVersion)
	case "pods":
		for _, pod := range list() {
			if flags["q"] {
				fmt.Println(pod.Id)
			} else {
				fmt.Println(pod.Id, pod.State, pod.Metadata.Namespace, pod.Metadata.Name)
			}
		}
	case "stopp", "rmp":
		if flags["a"] {
			for _, pod := range list() {
				words = append(words, pod.Id)
			}
		}
		for _, id := range words {
			_, err := pods.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id})
			check(err)
			if command == "rmp" {
				_, err = pods.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
				check(err)
			}
		}
	case "pull", "inspecti":
		if len(words) != 1 {
			check(fmt.Errorf("%s: which image?", command))
		}
		image := &cri.ImageSpec{Image: words[0]}
		if command == "pull" {
			answer, err := images.PullImage(ctx, &cri.PullImageRequest{Image: image})
			check(err)
			fmt.Println("Image is up to date for", answer.ImageRef)
			return
		}
		answer, err := images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: image})
		check(err)
		if answer.Image == nil {
			check(fmt.Errorf("no such image %q present", words[0]))
		}
		fmt.Println(answer.Image.Id)
	default:
		check(fmt.Errorf("%s is not among the commands of this stand-in", command))
	}
}
