// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// Namespace is where Fairlead is installed.
const Namespace = "fairlead-system"

const (
	// startTimeout is how long whatever is started may take to be of use. The machine may be a busy one.
	startTimeout = 2 * time.Minute
	// probeTimeout is how late an answer about readiness may come: a machine that is busy for a
	// second must not take every replica from behind the Service.
	probeTimeout = 10 * time.Second
	// probeInterval is between two questions to a replica: at 50 ms they took a thirtieth of a processor for each that
	// rested. The replicas allow four times as long for it, as drainDelay.
	probeInterval = 250 * time.Millisecond
)

// Options of a cluster.
type Options struct {
	// Root is the checkout whose manifests and binary are used.
	Root string
	// Operator is which program the replicas run. The default is Shipped.
	Operator Operator
	// Env is added to the environment of the replicas, as NAME=value. The default is none.
	Env []string
	// Servers are the servers that the replicas reach outside. They run Outside, and have the nameserver. The default is none.
	Servers *externalnet.Servers
	// Overlay is the folder of a kustomization to install instead of config/local. Its Service of the webhooks
	// becomes that of config/local.
	Overlay string
	// Cluster is passed on. Its Build.Root is set from Root.
	Cluster cluster.Options
	// Output takes progress. The default is none.
	Output io.Writer
}

// Cluster is a control plane with Fairlead installed, and the replicas that were started.
type Cluster struct {
	*cluster.Cluster
	// Servers are those of the options.
	Servers *externalnet.Servers
	// Config is the administrator's, of clients without a rate limit. Warnings are dropped.
	Config *rest.Config
	// Client, Kube and Dynamic are the administrator's.
	Client  client.WithWatch
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface

	root     string
	overlay  string
	env      []string
	binary   string
	output   io.Writer
	operator cluster.User
	balancer *loopback.Balancer
	args     []string // of replicas that Fill starts

	mu        sync.Mutex // guards what follows
	all       []*Replica
	replicas  []*Replica // behind the Service
	refusable []string   // namespaces
	started   int
}

// Open starts a control plane and installs Fairlead's manifests. No replica runs yet.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	if o.Servers != nil {
		o.Operator = Outside
	}
	root, err := filepath.Abs(o.Root) // processes run in a folder of their own
	if err != nil {
		return nil, fmt.Errorf("the checkout: %w", err)
	}
	binary, err := o.Operator.binary(ctx, root)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, root, o)
	if err != nil {
		return nil, err
	}
	s.overlay, s.env, s.binary, s.Servers = o.Overlay, o.Env, binary, o.Servers
	return s.unless(s.install(ctx))
}

// openBare starts a control plane that has Fairlead's CRDs alone, as they are generated: no conversion, no webhooks,
// no operator.
func openBare(ctx context.Context, o Options) (*Cluster, error) {
	s, err := start(ctx, o.Root, o)
	if err != nil {
		return nil, err
	}
	return s.unless(s.define(ctx, filepath.Join(o.Root, "config", "crd", "bases")))
}

// define applies a folder of CRDs, and waits until they are served.
func (c *Cluster) define(ctx context.Context, folder string) error {
	kubectl := func(ctx context.Context, args ...string) error {
		_, err := c.Kubectl(ctx, args...)
		return err
	}
	if err := kubectl(ctx, "apply", "--server-side", "-f", folder); err != nil {
		return err
	}
	return Established(ctx, kubectl)
}

// start starts a control plane of a checkout, with nothing on it.
func start(ctx context.Context, root string, o Options) (*Cluster, error) {
	o.Cluster.Build.Root = root
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.Cluster.Output == nil {
		o.Cluster.Output = o.Output
	}
	c, err := cluster.Start(ctx, o.Cluster)
	if err != nil {
		return nil, err
	}
	s := &Cluster{Cluster: c, root: root, output: o.Output}
	return s.unless(s.connect())
}

// unless closes the cluster on an error.
func (c *Cluster) unless(err error) (*Cluster, error) {
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, closing(c.Close()))
	}
	return c, nil
}

// Close ends the replicas and the control plane; nothing of them is left.
func (c *Cluster) Close() error {
	if c.balancer != nil {
		c.balancer.Close()
	}
	return c.Stop()
}

func (c *Cluster) install(ctx context.Context) error {
	var err error
	if c.balancer, err = loopback.Listen(ctx, loopback.Options{Interval: probeInterval, ProbeTimeout: probeTimeout}); err != nil {
		return err
	}
	if c.operator, err = c.ServiceAccount(Namespace, "fairlead-manager"); err != nil {
		return err
	}
	return c.Reinstall(ctx)
}

// Reinstall applies the manifests once more, as after an upgrade.
func (c *Cluster) Reinstall(ctx context.Context) error {
	if c.overlay != "" {
		return c.InstallOverlay(ctx, c.overlay)
	}
	return Install(ctx, c.KubectlIO, c.root, c.balancer.Port())
}

// InstallOverlay applies what a kustomization renders, as Options.Overlay says.
func (c *Cluster) InstallOverlay(ctx context.Context, folder string) error {
	manifests, err := render(ctx, c.KubectlIO, folder)
	if err != nil {
		return err
	}
	return install(ctx, c.KubectlIO, manifests, c.balancer.Port())
}

// Kubectl runs kubectl with its three streams.
type Kubectl func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) error

// Install applies config/local of a checkout, with the webhooks at a port of the API server's own
// host, and waits until the kinds are served.
func Install(ctx context.Context, kubectl Kubectl, root string, port int) error {
	manifests, err := rendered.of(ctx, kubectl, filepath.Join(root, "config", "local"))
	if err != nil {
		return err
	}
	return install(ctx, kubectl, manifests, port)
}

// renderings caches kubectl's output for folders that do not change. A rendering takes most of a second of a processor.
type renderings struct {
	mu     sync.Mutex
	folder map[string][]byte
}

var rendered = renderings{folder: map[string][]byte{}}

func (r *renderings) of(ctx context.Context, kubectl Kubectl, folder string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if manifests, there := r.folder[folder]; there {
		return manifests, nil
	}
	manifests, err := render(ctx, kubectl, folder)
	if err == nil {
		r.folder[folder] = manifests
	}
	return manifests, err
}

func render(ctx context.Context, kubectl Kubectl, folder string) ([]byte, error) {
	var manifests, problems bytes.Buffer
	if err := kubectl(ctx, nil, &manifests, &problems, "kustomize", folder); err != nil {
		return nil, fmt.Errorf("render %s: %w: %s", folder, err, problems.String())
	}
	return manifests.Bytes(), nil
}

func install(ctx context.Context, kubectl Kubectl, manifests []byte, port int) error {
	local, err := withWebhookPort(manifests, port)
	if err != nil {
		return err
	}
	var problems bytes.Buffer
	run := func(ctx context.Context, args ...string) error {
		problems.Reset()
		if err := kubectl(ctx, bytes.NewReader(local), io.Discard, &problems, args...); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, problems.String())
		}
		return nil
	}
	if err := run(ctx, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		return err
	}
	return Established(ctx, run)
}

// Established waits until the API server serves every CRD there is. kubectl wait alone does
// not: it fails at once where a CRD has no conditions at all yet.
func Established(ctx context.Context, kubectl func(ctx context.Context, args ...string) error) error {
	return Eventually(ctx, startTimeout, func(ctx context.Context) error {
		return kubectl(ctx, "wait", "--for=condition=Established", "--timeout="+startTimeout.String(), "crd", "--all")
	})
}

// closing words a second error behind a first.
func closing(err error) string {
	if err == nil {
		return ""
	}
	return "; and then: " + err.Error()
}
