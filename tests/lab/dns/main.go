// A small stand-in for CoreDNS, which Debian does not have: it answers for the addresses of the cluster's Services, as
// NAME.NAMESPACE.svc.cluster.local, from what the API server lists, and refuses every other name. It serves CoreDNS's /health (8080)
// and /ready (8181), and ignores the Corefile.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const domain = "svc.cluster.local."

type names struct {
	sync.Mutex
	address map[string]net.IP
}

// refresh lists the Services: the role that kubeadm gives CoreDNS may list and watch, not get.
func (n *names) refresh(client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list, err := client.CoreV1().Services("").List(ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	address := map[string]net.IP{}
	for _, service := range list.Items {
		if ip := net.ParseIP(service.Spec.ClusterIP); ip != nil {
			address[service.Name+"."+service.Namespace+"."+domain] = ip
		}
	}
	n.Lock()
	defer n.Unlock()
	n.address = address
	return nil
}

func (n *names) find(name string) net.IP {
	n.Lock()
	defer n.Unlock()
	return n.address[strings.ToLower(name)]
}

func (n *names) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	answer := new(dns.Msg)
	answer.SetReply(question)
	answer.Authoritative = true
	asked := question.Question[0]
	ip := n.find(asked.Name)
	switch {
	case !dns.IsSubDomain("cluster.local.", asked.Name):
		answer.Rcode = dns.RcodeRefused
	case ip == nil:
		answer.Rcode = dns.RcodeNameError
	case asked.Qtype == dns.TypeA && ip.To4() != nil:
		header := dns.RR_Header{Name: asked.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 5}
		answer.Answer = append(answer.Answer, &dns.A{Hdr: header, A: ip})
	}
	if err := w.WriteMsg(answer); err != nil {
		log.Print(err)
	}
}

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	client, all := kubernetes.NewForConfigOrDie(config), &names{}
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	go func() { log.Fatal(http.ListenAndServe(":8080", http.HandlerFunc(ok))) }()
	for err = all.refresh(client); err != nil; err = all.refresh(client) {
		log.Print(err)
		time.Sleep(time.Second)
	}
	for _, network := range []string{"udp", "tcp"} {
		server := &dns.Server{Addr: ":53", Net: network, Handler: all}
		go func() { log.Fatal(server.ListenAndServe()) }()
	}
	go func() { log.Fatal(http.ListenAndServe(":8181", http.HandlerFunc(ok))) }()
	for {
		time.Sleep(2 * time.Second)
		if err := all.refresh(client); err != nil {
			log.Print(err)
		}
	}
}
