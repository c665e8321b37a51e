// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/framework"
	"github.com/fairlead-dev/fairlead/test/soak/proxy"
)

const (
	// replicas is how many there are of the operator, and reconcilers how many more where only these
	// reconcile.
	replicas    = 3
	reconcilers = 2
	// startTimeout is how long a part may take to be of use. The machine may be a busy one.
	startTimeout = 2 * time.Minute
	// grace is how long a replica may take to end: its own shutdown timeout, and a little.
	grace = 75 * time.Second
	// lag is how late the Service learns of a replica's readiness: the time that an endpoint's removal
	// takes to reach kube-proxy. drainDelay is what the replicas allow for it.
	lag        = time.Second
	drainDelay = 3 * time.Second
	// probeTimeout is as patient as a kubelet with three probes of three seconds.
	probeTimeout = 9 * time.Second
	// namespace is where the load's objects live.
	namespace = "soak"
)

// replica is one process of the operator, with the links around it.
type replica struct {
	*framework.Replica
	role role
	// webhook and probes are on the way to it, api on its way to the API server.
	webhook, probes, api *proxy.Proxy
}

// site is a control plane with Fairlead installed, and the replicas on it. Its methods may be called
// from one goroutine at a time, except where they say otherwise.
type site struct {
	*framework.Cluster
	admin   client.WithWatch
	config  *rest.Config
	service *loopback.Balancer
	binary  string
	record  string // file of what replicas write down
	args    []string
	started int
	deaths  map[string]time.Time
	gone    []*replica
	output  io.Writer

	mu      sync.Mutex // guards what follows
	present []*replica
}

// openSite starts everything, and returns once three replicas answer webhooks and one leads.
func openSite(ctx context.Context, o Options, sc scenario) (*site, error) {
	operator := framework.Outside
	if o.Operator != "" {
		operator = framework.Shipped // nothing of it is built
	}
	opened, err := framework.Open(ctx, framework.Options{Root: o.Root, Operator: operator, Cluster: cluster.Options{Nodes: sc.nodes}})
	if err != nil {
		return nil, err
	}
	s := &site{
		Cluster: opened, args: sc.args, deaths: map[string]time.Time{}, output: o.Output,
		record: filepath.Join(opened.Folder(), "reconciles.jsonl"),
	}
	if err := s.fill(ctx, o, sc); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *site) fill(ctx context.Context, o Options, sc scenario) error {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return err
	}
	if s.binary = filepath.Join(root, "bin", "fairlead-operator-outside"); o.Operator != "" {
		if s.binary, err = filepath.Abs(o.Operator); err != nil {
			return err
		}
	}
	if s.service, err = loopback.Listen(ctx, loopback.Options{Interval: lag, ProbeTimeout: probeTimeout}); err != nil {
		return err
	}
	if err := framework.Install(ctx, s.KubectlIO, root, s.service.Port()); err != nil {
		return err
	}
	if s.admin, err = framework.NewClient(s.Kubeconfig()); err != nil {
		return err
	}
	if s.config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig()); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if sc.before != nil {
		if err := sc.before(ctx, s, root); err != nil {
			return err
		}
	}
	for _, role := range roles(sc) {
		if err := s.start(ctx, role); err != nil {
			return err
		}
	}
	_, err = s.leader(ctx)
	return err
}

// close ends everything. Replicas are killed: how they end does not matter any more, and an endedWell end
// of all of them takes longer than some rows.
func (s *site) close() error {
	var ends sync.WaitGroup
	for _, r := range slices.Concat(s.gone, s.running()) {
		ends.Go(func() {
			r.Kill()
			r.close()
		})
	}
	ends.Wait()
	if s.service != nil {
		s.service.Close()
	}
	return s.Close()
}

func (r *replica) close() {
	for _, l := range []*proxy.Proxy{r.webhook, r.probes, r.api} {
		if l != nil {
			l.Close()
		}
	}
}

// start runs one more replica, and returns once it is ready, and the Service knows it if it serves
// webhooks.
func (s *site) start(ctx context.Context, does role) error {
	s.started++
	r := &replica{Replica: &framework.Replica{ID: "replica-" + strconv.Itoa(s.started)}, role: does}
	kubeconfig, err := s.connect(ctx, r)
	if err != nil {
		return err
	}
	r.Component, err = s.Run(ctx, cluster.Spec{
		Name: "fairlead-" + strconv.Itoa(s.started),
		Path: s.binary,
		Env: []string{"POD_NAMESPACE=" + framework.Namespace, "POD_NAME=" + r.ID,
			"FAIRLEAD_RECONCILE_LOG=" + s.record, "FAIRLEAD_CLOCK=" + s.clockOf(r)},
		Args: func() ([]string, error) {
			usual, err := r.Arguments(kubeconfig)
			return slices.Concat(usual, []string{"--set=webhook.drainDelay=" + drainDelay.String()}, does.args(), s.args), err
		},
		Ready:        r.Ready,
		StartTimeout: startTimeout,
		Grace:        grace,
	})
	if err != nil {
		r.close()
		return err
	}
	if r.webhook, err = proxy.Listen(ctx, r.Webhook); err != nil {
		return err
	}
	if r.probes, err = proxy.Listen(ctx, strings.TrimPrefix(r.Probes, "http://")); err != nil {
		return err
	}
	s.mu.Lock()
	s.present = append(s.present, r)
	s.mu.Unlock()
	s.balance()
	s.printf("%s is ready", r.ID)
	return nil
}

// connect makes a link from a replica to the API server, and a kubeconfig that leads over it.
func (s *site) connect(ctx context.Context, r *replica) (string, error) {
	server, err := url.Parse(s.URL())
	if err != nil {
		return "", err
	}
	if r.api, err = proxy.Listen(ctx, server.Host); err != nil {
		return "", err
	}
	original, err := os.ReadFile(s.Operator().Kubeconfig)
	if err != nil {
		return "", err
	}
	over := strings.ReplaceAll(string(original), s.URL(), "https://"+r.api.Address())
	path := filepath.Join(s.Folder(), r.ID+".kubeconfig")
	return path, os.WriteFile(path, []byte(over), 0o600) //nolint:gosec // in the cluster's own folder
}

// running are the replicas that have not left. Any goroutine may ask.
func (s *site) running() []*replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.present)
}

// leave takes a replica that has ended from behind the Service.
func (s *site) leave(r *replica) {
	s.mu.Lock()
	s.present = slices.DeleteFunc(s.present, func(other *replica) bool { return other == r })
	s.mu.Unlock()
	s.gone = append(s.gone, r)
	s.balance()
}

// stop ends a replica as a rollout does.
func (s *site) stop(r *replica) {
	s.printf("SIGTERM for %s", r.ID)
	r.Stop()
	s.leave(r)
}

// kill ends a replica as a crash does. The Service learns of it by its probes.
func (s *site) kill(r *replica) {
	s.printf("SIGKILL for %s", r.ID)
	r.Kill()
	s.deaths[r.ID] = time.Now()
}

func (s *site) balance() {
	present := s.running()
	backends := make([]loopback.Backend, 0, len(present))
	for _, r := range present {
		if r.role == reconciles {
			continue
		}
		backends = append(backends, loopback.Backend{Address: r.webhook.Address(), Readyz: "http://" + r.probes.Address() + "/readyz"})
	}
	s.service.SetBackends(backends...)
}

// inService waits until so many replicas are in the Service.
func (s *site) inService(ctx context.Context, want int) error {
	return framework.Eventually(ctx, startTimeout, func(context.Context) error { return s.ready(want) })
}

// ready is nil where so many replicas are in the Service.
func (s *site) ready(want int) error {
	if got := len(s.service.Ready()); got != want {
		return fmt.Errorf("%d replicas are in the Service, not %d", got, want)
	}
	return nil
}

func (s *site) printf(format string, args ...any) {
	if s.output != nil {
		_, _ = fmt.Fprintf(s.output, time.Now().Format(clockFormat)+"   "+format+"\n", args...)
	}
}
