// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// errStopped is the error of calls to a cluster that has ended.
var errStopped = errors.New("the cluster is stopped")

// Options of Start. The zero value is a good cluster.
type Options struct {
	// Build says where the programs come from. See BuildOptions.
	Build BuildOptions
	// WithoutControllerManager leaves out kube-controller-manager: then nothing is collected after
	// its owner, no namespace finishes terminating, and no ServiceAccount is made.
	WithoutControllerManager bool
	// Staged has Start return once the API server is ready. Complete builds and starts the rest.
	Staged bool
	// Nodes is how many simulated nodes there are: node-1, node-2 and so on. With at least one,
	// kube-scheduler and KWOK run too, so that pods start, fail and end as their labels say (see
	// README.md). It needs kube-controller-manager. Default 0, at most 2000.
	Nodes int
	// PodCIDR is where the IPs of pods come from. Leave room: nothing stops them at its end. A part
	// of 127.0.0.0/8 lets a test on Linux listen on the IP of a pod, but EndpointSlices refuse such
	// IPs. Default 10.244.0.0/16.
	PodCIDR string
	// EtcdFlags, APIServerFlags, ControllerManagerFlags and SchedulerFlags, as "--name=value",
	// follow ours; for a flag that is given twice the last one counts.
	EtcdFlags, APIServerFlags, ControllerManagerFlags, SchedulerFlags []string
	// AuditPolicy is a file of kind audit.k8s.io/v1 Policy. The API server then writes AuditLog.
	AuditPolicy string
	// LogFolder takes the components' logs, which then survive the cluster. Default: a folder
	// inside the cluster's own, removed with it.
	LogFolder string
	// Output takes progress: a line for each component, the lines of a build, and the last words
	// of a component that died later. It is written to by one goroutine at a time. Default: none.
	Output io.Writer
	// StartTimeout is how long each component may take to become ready. Default 2 min; a start of
	// all takes some 4 s on an idle machine.
	StartTimeout time.Duration
}

// Cluster is a running control plane. Its methods may be called from any goroutine.
type Cluster struct {
	ctx        context.Context // ends when Stop begins
	cancel     context.CancelFunc
	options    Options
	binaries   binaries
	folder     string
	logs       string
	supervisor *supervisor
	pki        *pki
	admin      User

	mu         sync.Mutex // guards what follows
	url        string     // known once the API server has its port
	etcdURL    string
	components []*Component
	users      int

	output   sync.Mutex // one line at a time
	stopOnce sync.Once
	stopErr  error
	done     chan struct{}
}

// Start builds what is missing, starts a cluster, and returns once all of it is ready. The cluster
// lives until Stop is called or ctx ends.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	began := time.Now()
	if options.StartTimeout == 0 {
		options.StartTimeout = defaultStartTimeout
	}
	if err := options.validateNodes(); err != nil {
		return nil, err
	}
	if options.Build.Output == nil {
		options.Build.Output = options.Output
	}
	build := options.Build
	if options.Staged {
		build.Programs = []string{Etcd, APIServer, Kubectl}
	} else if build.Programs == nil {
		build.Programs = options.programs()
	}
	programs, err := locate(ctx, build)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(ctx, options, programs)
	if err != nil {
		return nil, err
	}
	err = c.runAll(ctx, etcd(c), apiServer(c))
	if err == nil && !options.Staged {
		err = c.runRest(ctx, programs)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the local cluster: %w", err), c.Stop())
	}
	// The owner of this goroutine is ctx, and it ends with Stop.
	context.AfterFunc(ctx, func() { _ = c.Stop() })
	c.printf("the cluster is ready after %v: %s", time.Since(began).Round(100*time.Millisecond), c.URL())
	return c, nil
}

// Complete builds and starts what a staged start has left out, and returns once all of it is ready.
func (c *Cluster) Complete(ctx context.Context) error {
	build := c.options.Build
	build.Programs = c.options.programs()
	programs, err := locate(ctx, build)
	if err != nil {
		return err
	}
	return c.runRest(ctx, programs)
}

// programs are those that a cluster with these options needs.
func (o Options) programs() []string {
	names := []string{Etcd, APIServer, Kubectl}
	if !o.WithoutControllerManager {
		names = append(names, ControllerManager)
	}
	if o.Nodes > 0 {
		names = append(names, Scheduler, Kwok)
	}
	return names
}

// runRest starts what is not the API server, nor under it.
func (c *Cluster) runRest(ctx context.Context, programs binaries) error {
	var specs []Spec
	if !c.options.WithoutControllerManager {
		specs = append(specs, controllerManager(c, programs))
	}
	if c.options.Nodes > 0 {
		specs = append(specs, scheduler(c, programs), kwok(c, programs))
	}
	if err := c.runAll(ctx, specs...); err != nil || c.options.Nodes == 0 {
		return err
	}
	return c.makeNodes(ctx)
}

// runAll starts components, each once the one before it is ready.
func (c *Cluster) runAll(ctx context.Context, specs ...Spec) error {
	for _, spec := range specs {
		if _, err := c.Run(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// newCluster makes everything that a component needs to find: the folder with its supervisor, and the
// certificates.
func newCluster(ctx context.Context, options Options, programs binaries) (*Cluster, error) {
	folder := filepath.Join(os.TempDir(), "fairlead-cluster-"+rand.Text()[:12])
	s, err := newSupervisor(folder)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, binaries: programs, folder: folder, supervisor: s, done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) prepare() error {
	c.logs = c.options.LogFolder
	if c.logs == "" {
		c.logs = filepath.Join(c.folder, "logs")
	}
	if err := os.MkdirAll(c.logs, 0o700); err != nil {
		return fmt.Errorf("make the folder of the logs: %w", err)
	}
	var err error
	c.pki, err = newPKI(filepath.Join(c.folder, "pki"))
	return err
}

// Run starts one more program beside the cluster, such as an operator under test, and returns once
// it is ready. It ends with the cluster, before the control plane does, and whatever happens to the
// owner: the supervisor watches it too.
func (c *Cluster) Run(ctx context.Context, spec Spec) (*Component, error) {
	if spec.StartTimeout == 0 {
		spec.StartTimeout = c.options.StartTimeout
	}
	if spec.Grace == 0 {
		spec.Grace = defaultGrace
	}
	if spec.Name == "" || spec.Name != filepath.Base(spec.Name) {
		return nil, fmt.Errorf("component %q: the name must be usable as the name of its log file", spec.Name)
	}
	k := &Component{cluster: c, spec: spec, logPath: filepath.Join(c.logs, spec.Name+".log")}
	if err := c.add(k); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := k.first(ctx); err != nil {
		c.remove(k)
		return nil, err
	}
	c.printf("%s is ready after %v", spec.Name, time.Since(began).Round(10*time.Millisecond))
	return k, nil
}

func (c *Cluster) add(k *Component) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", k.spec.Name, errStopped)
	}
	for _, other := range c.components {
		if other.spec.Name == k.spec.Name {
			return fmt.Errorf("component %q is there already", k.spec.Name)
		}
	}
	c.components = append(c.components, k)
	return nil
}

func (c *Cluster) remove(k *Component) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.components = slices.DeleteFunc(c.components, func(other *Component) bool { return other == k })
}

// Component returns the component of that name, such as cluster.APIServer, or nil.
func (c *Cluster) Component(name string) *Component {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.components {
		if k.spec.Name == name {
			return k
		}
	}
	return nil
}

// Stop ends all components, the last started first, and removes the cluster's folder. It returns
// when nothing is left, and may be called more than once. An error names what could not be removed.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() {
		defer close(c.done)
		c.mu.Lock()
		c.cancel() // under the lock: a call that adds a component after this sees it
		components := slices.Clone(c.components)
		c.mu.Unlock()
		for _, k := range slices.Backward(components) {
			k.Stop()
		}
		c.stopErr = c.supervisor.close()
	})
	return c.stopErr
}

// Done is closed once the cluster has ended and nothing of it is left.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// URL of the API server, such as https://127.0.0.1:24601.
func (c *Cluster) URL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.url
}

// CA is the certificate, PEM, that the API server's certificate and all users' are signed with.
func (c *Cluster) CA() []byte { return slices.Clone(c.pki.ca.pem) }

// Folder is the cluster's own folder. It is gone after Stop.
func (c *Cluster) Folder() string { return c.folder }

func (c *Cluster) printf(format string, args ...any) {
	if c.options.Output == nil {
		return
	}
	c.output.Lock()
	defer c.output.Unlock()
	_, _ = fmt.Fprintf(c.options.Output, format+"\n", args...)
}

// whileBoth returns a context that ends, with the cause, when either of the two does.
func whileBoth(ctx, other context.Context) (context.Context, func()) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(errStopped) })
	return both, func() { stop(); cancel(nil) }
}
