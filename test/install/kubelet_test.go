// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// kubelet runs the containers of pods as processes of this host. Pods are bound to no node, so the API server removes a deleted
// one at once. Its process then gets SIGTERM.
type kubelet struct {
	t       *testing.T
	cluster *cluster.Cluster
	kube    kubernetes.Interface
	// programs are the binaries of images.
	programs map[string]string
	folder   string

	running map[types.UID]*container // of the one goroutine that synchronizes
	stops   sync.WaitGroup
	alive   atomic.Int32 // processes, also those that are told to stop

	mu        sync.Mutex           // guards what follows
	logs      []*cluster.Component // of all that ever ran
	balancers map[string]*loopback.Balancer
}

// container is a process.
type container struct {
	*cluster.Component
	readyz, webhook string // empty for what serves nothing
	ended           chan error
}

func newKubelet(t *testing.T, c *cluster.Cluster, kube kubernetes.Interface, programs map[string]string) *kubelet {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	k := &kubelet{
		t: t, cluster: c, kube: kube, programs: programs, folder: t.TempDir(),
		running: map[types.UID]*container{}, balancers: map[string]*loopback.Balancer{},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := k.synchronize(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("run pods: %v", err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		for _, c := range k.running {
			k.stops.Go(c.Stop)
		}
		k.stops.Wait()
		for _, b := range k.balancers {
			b.Close()
		}
	})
	return k
}

// port is that of this host on which the webhooks of the release in a namespace are reached.
func (k *kubelet) port(namespace string) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.balancers[namespace]
	if b == nil {
		var err error
		if b, err = loopback.Listen(context.WithoutCancel(k.t.Context()), loopback.Options{ProbeTimeout: 10 * time.Second}); err != nil {
			return 0, err
		}
		k.balancers[namespace] = b
	}
	return b.Port(), nil
}

// synchronize starts, probes and stops what the pods ask for.
func (k *kubelet) synchronize(ctx context.Context) error {
	pods, err := k.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	present := map[types.UID]bool{}
	backends := map[string][]loopback.Backend{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		program := k.programs[pod.Spec.Containers[0].Image]
		if program == "" {
			continue
		}
		present[pod.UID] = true
		c := k.running[pod.UID]
		if c == nil {
			if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
				continue // it has ended, or will without ever having run
			}
			if c, err = k.start(ctx, pod, program); apierrors.IsNotFound(err) {
				continue // a ConfigMap or a ServiceAccount, which may come
			} else if err != nil {
				return fmt.Errorf("pod %s: %w", pod.Name, err)
			}
			k.running[pod.UID] = c
			k.mu.Lock()
			k.logs = append(k.logs, c.Component)
			k.mu.Unlock()
		}
		if c.webhook != "" && pod.Labels["fairlead.dev/webhooks"] == "true" {
			backends[pod.Namespace] = append(backends[pod.Namespace], loopback.Backend{Address: c.webhook, Readyz: c.readyz})
		}
		if err := k.report(ctx, pod, c); err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	for uid, c := range k.running {
		if present[uid] {
			continue
		}
		delete(k.running, uid)
		k.stops.Go(c.Stop)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for namespace, b := range k.balancers {
		b.SetBackends(backends[namespace]...)
	}
	return nil
}

// start runs the first container of a pod.
func (k *kubelet) start(ctx context.Context, pod *corev1.Pod, program string) (*container, error) {
	kubeconfig, err := k.kubeconfig(ctx, pod)
	if err != nil {
		return nil, err
	}
	spec := pod.Spec.Containers[0]
	mounted, err := k.mount(ctx, pod)
	if err != nil {
		return nil, err
	}
	c := &container{ended: make(chan error, 1)}
	args := make([]string, 0, len(spec.Args)+5)
	for _, argument := range spec.Args {
		args = append(args, strings.Replace(argument, "/etc/fairlead", mounted, 1))
	}
	args = append(args, "--kubeconfig="+kubeconfig)
	if args[0] == "manager" {
		var ports [3]int // of this host, which other replicas share
		for i := range ports {
			if ports[i], err = loopback.FreePort(); err != nil {
				return nil, err
			}
		}
		c.webhook, c.readyz = fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1])
		if err := serveWebhooksAt(filepath.Join(mounted, "config.yaml"), ports[0]); err != nil {
			return nil, err
		}
		args = append(args, fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
			fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[2]))
	}
	var environment []string
	for _, e := range spec.Env {
		environment = append(environment, e.Name+"="+map[string]string{
			"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "metadata.uid": string(pod.UID),
		}[e.ValueFrom.FieldRef.FieldPath])
	}
	c.Component, err = k.cluster.Run(ctx, cluster.Spec{
		Name: pod.Name + "-" + string(pod.UID)[:8], Path: program, Args: func() ([]string, error) { return args, nil }, Env: environment, Grace: 30 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	k.alive.Add(1)
	k.stops.Go(func() {
		defer k.alive.Add(-1)
		c.ended <- c.Wait(context.WithoutCancel(ctx))
	})
	return c, nil
}

// mount writes the ConfigMap of a pod to a folder; "" where it has none.
func (k *kubelet) mount(ctx context.Context, pod *corev1.Pod) (string, error) {
	folder := filepath.Join(k.folder, string(pod.UID))
	for _, volume := range pod.Spec.Volumes {
		if volume.ConfigMap == nil {
			continue
		}
		content, err := k.kube.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
		for name, text := range content.Data {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				return "", err
			}
		}
	}
	return folder, nil
}

// serveWebhooksAt writes a port of loopback to a configuration file. Its fields are those of all releases, and flags are not.
func serveWebhooksAt(file string, port int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var configuration map[string]any
	if err := yaml.Unmarshal(text, &configuration); err != nil {
		return err
	}
	for field, value := range map[string]any{"host": "127.0.0.1", "port": int64(port)} {
		if err := unstructured.SetNestedField(configuration, value, "webhook", field); err != nil {
			return err
		}
	}
	if text, err = yaml.Marshal(configuration); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// kubeconfig is that of the pod's ServiceAccount. The token outlives the pod, whose process stops after it.
func (k *kubelet) kubeconfig(ctx context.Context, pod *corev1.Pod) (string, error) {
	token, err := k.kube.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: k.cluster.URL(), CertificateAuthorityData: k.cluster.CA()}
	config.AuthInfos["local"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "local"}
	config.CurrentContext = "local"
	path := filepath.Join(k.folder, string(pod.UID)+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// report writes the status of a pod where it has changed.
func (k *kubelet) report(ctx context.Context, pod *corev1.Pod, c *container) error {
	phase, ready := corev1.PodRunning, corev1.ConditionFalse
	select {
	case err := <-c.ended:
		c.ended <- err // for the next time
		phase = corev1.PodSucceeded
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
			return err
		} else if err != nil {
			phase = corev1.PodFailed
		}
	default:
		if c.readyz != "" && answers(ctx, c.readyz) {
			ready = corev1.ConditionTrue
		}
	}
	now := corev1.ConditionFalse
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			now = condition.Status
		}
	}
	if pod.Status.Phase == phase && now == ready || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata": {"uid": %q}, "status": {"phase": %q, "conditions": [
		{"type": "Ready", "status": %q, "lastTransitionTime": %q}]}}`, pod.UID, phase, ready, time.Now().UTC().Format(time.RFC3339))
	_, err := k.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && (strings.Contains(err.Error(), "not found") || strings.Contains(err.Error(), "onflict")) {
		return nil // it was deleted, and perhaps another one made
	}
	return err
}

func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// output returns what the processes of pods whose name begins so have written.
func (k *kubelet) output(prefix string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all strings.Builder
	for _, c := range k.logs {
		if strings.HasPrefix(c.Name(), prefix) {
			text, _ := c.Logs() // "" says enough
			all.WriteString(text)
		}
	}
	return all.String()
}
