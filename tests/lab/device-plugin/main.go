// A double of NVIDIA's device plugin for hosts without a GPU: it advertises devices that do not exist to the kubelet, over the
// same interface, and gives pods nothing of them. What the kubelet and the scheduler make of it is real.
//
//	device-plugin RESOURCE COUNT|ID...
//
// NVIDIA's plugin names devices by the UUIDs of their GPUs.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const deadline = 30 * time.Second

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

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: device-plugin RESOURCE COUNT|ID...")
	}
	ids := os.Args[2:]
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
	if err := register(os.Args[1], socket); err != nil {
		log.Fatal(err)
	}
	log.Printf("registered %d devices of %s", len(devices), os.Args[1])
	select {}
}
