// A double of NVIDIA's device plugin for hosts without a GPU: it advertises devices that do not exist to the kubelet, over the
// same interface, and gives pods nothing of them. What the kubelet and the scheduler make of it is real.
//
//	device-plugin RESOURCE COUNT|ID...
//
// NVIDIA's plugin names devices by the UUIDs of their GPUs.
//
// Without arguments it reads what gpuadm's DaemonSets give NVIDIA's plugin: replicas in $CONFIG_FILE, GPUs in NVIDIA_VISIBLE_DEVICES; for
// "all" those that the double of NVIDIA's runtime names in DOUBLE_GPUS, or one. It registers $delay after its start: NVIDIA's needed up to 37 s
// on an H200. Under the names mps-control-daemon and sh it is the MPS control daemon, which does nothing here. MIG is not known to it.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	deadline = 30 * time.Second
	delay    = 15 * time.Second
)

type plugin struct{ devices []*api.Device }

func (p plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices once: their health never changes.
func (p plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{})
	}
	return response, nil
}

func (p plugin) GetPreferredAllocation(context.Context, *api.PreferredAllocationRequest) (*api.PreferredAllocationResponse, error) {
	return &api.PreferredAllocationResponse{}, nil
}

func (p plugin) PreStartContainer(context.Context, *api.PreStartContainerRequest) (*api.PreStartContainerResponse, error) {
	return &api.PreStartContainerResponse{}, nil
}

func register(resource, socket string) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	dial := func(ctx context.Context, path string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	kubelet, err := grpc.DialContext(ctx, api.KubeletSocket, grpc.WithInsecure(), grpc.WithBlock(), grpc.WithContextDialer(dial))
	if err != nil {
		return fmt.Errorf("no kubelet at %s: %v", api.KubeletSocket, err)
	}
	defer kubelet.Close()
	_, err = api.NewRegistrationClient(kubelet).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: filepath.Base(socket), ResourceName: resource})
	return err
}

// asNvidias returns the ids of the devices that NVIDIA's plugin would advertise with its configuration.
func asNvidias() []string {
	visible := os.Getenv("NVIDIA_VISIBLE_DEVICES")
	if visible == "void" {
		return nil
	}
	gpus := strings.Split(visible, ",")
	if visible == "" || visible == "all" {
		gpus = []string{"GPU-double-0"}
		if named := os.Getenv("DOUBLE_GPUS"); named != "" {
			gpus = strings.Split(named, ",")
		}
	}
	config, err := os.ReadFile(os.Getenv("CONFIG_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	shared := regexp.MustCompile(`(?m)^ *(?:- )?replicas: *([0-9]+)`).FindSubmatch(config)
	if shared == nil {
		return gpus
	}
	replicas, _ := strconv.Atoi(string(shared[1]))
	var ids []string
	for _, gpu := range gpus {
		for i := 0; i < replicas; i++ {
			ids = append(ids, fmt.Sprintf("%s::%d", gpu, i))
		}
	}
	return ids
}

// forever waits until the program is ended. An empty select is a deadlock for the Go runtime, which ends the program.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// asMps is the control daemon, or its program that mounts its shared memory.
func asMps() {
	if len(os.Args) > 1 && os.Args[1] == "mount-shm" {
		if err := os.MkdirAll("/mps/shm", 0755); err != nil {
			log.Fatal(err)
		}
		return
	}
	forever()
}

func main() {
	switch filepath.Base(os.Args[0]) {
	case "mps-control-daemon", "sh":
		asMps()
		return
	}
	resource := "nvidia.com/gpu"
	var ids []string
	switch {
	case len(os.Args) == 1:
		ids = asNvidias()
		time.Sleep(delay)
	case os.Args[1] == "--version":
		fmt.Println("a double of NVIDIA's device plugin")
		return
	case len(os.Args) == 2:
		log.Fatal("usage: device-plugin RESOURCE COUNT|ID...")
	default:
		resource, ids = os.Args[1], os.Args[2:]
	}
	if len(ids) == 0 {
		log.Print("no devices")
		forever()
	}
	if count, err := strconv.Atoi(ids[0]); err == nil {
		ids = nil
		for i := 0; i < count; i++ {
			ids = append(ids, fmt.Sprintf("double-%d", i))
		}
	}
	var devices []*api.Device
	for _, id := range ids {
		devices = append(devices, &api.Device{ID: id, Health: api.Healthy})
	}
	socket := filepath.Join(api.DevicePluginPath, "nvidia-double.sock")
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, plugin{devices})
	go func() { log.Fatal(server.Serve(listener)) }()
	if err := register(resource, socket); err != nil {
		log.Fatal(err)
	}
	log.Printf("registered %d devices of %s", len(devices), resource)
	select {}
}
