// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// pods is how many each Deployment has, and port that of each server.
	pods, port = 3, 7000
	// setUpWithin bounds the wait for the objects of a history.
	setUpWithin = 2 * time.Minute
)

// world is the setting of a history: the objects of a namespace, and the servers outside.
type world struct {
	*framework.Cluster
	namespace string
	// steady is the server of the ExternalService of that name, and never fails; primary and standby are those of
	// the ExternalService "moving".
	steady, primary, standby *externalnet.Server
	// variant is the one that "steady" has now, and failed whether the primary fails.
	variant int
	failed  bool
	// changes are how often the ConfigMap of "web" changed, and changedAt is when it last did.
	changes   int
	changedAt time.Time
	// names are how often the trigger of each RebootPolicy was renamed.
	names map[string]int
	// asked is how many runs of the ChaosPod "kills" were asked for.
	asked int
}

// newWorld makes the objects, and waits until the operator has published and observed all.
func newWorld(ctx context.Context, c *framework.Cluster) (*world, error) {
	w := &world{Cluster: c, names: map[string]int{}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "h-"}}
	if err := c.Client.Create(ctx, namespace); err != nil {
		return w, err
	}
	w.namespace = namespace.Name
	for _, s := range []**externalnet.Server{&w.steady, &w.primary, &w.standby} {
		server, err := c.Servers.TCP(fmt.Sprintf("%s:%d", c.Servers.Address(), port))
		if err != nil {
			return w, err
		}
		*s = server
	}
	if err := c.Servers.DNS.Addresses(w.host(), time.Second, ip(w.steady)); err != nil {
		return w, err
	}
	for _, manifest := range append(w.workloads(), w.kinds()...) {
		if err := w.create(ctx, manifest); err != nil {
			return w, err
		}
	}
	return w, framework.Eventually(ctx, setUpWithin, w.atRest)
}

// close ends the servers and deletes the namespace. What the operator has in it ends by itself.
func (w *world) close() error {
	for _, s := range []*externalnet.Server{w.steady, w.primary, w.standby} {
		if s != nil {
			s.Close()
		}
	}
	w.Servers.DNS.Forget(w.host())
	if w.namespace == "" {
		return nil
	}
	return w.Client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
}

func (w *world) host() string { return "steady." + w.namespace + ".example.com" }

func ip(s *externalnet.Server) string { return s.At().Addr().String() }

// restarted are the Deployments that a RebootPolicy of the same name selects.
var restarted = []string{"web", "calm"}

// workloads are two Deployments, each with a ConfigMap. Only that of "web" ever changes.
func (w *world) workloads() []string {
	var all []string
	for _, name := range restarted {
		all = append(all,
			fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {turn: '0'}}", name),
			fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, labels: {restart: %[1]s}}, spec: {replicas: %d, revisionHistoryLimit: 100,
				selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {terminationGracePeriodSeconds: 1,
				containers: [{name: main, image: none, envFrom: [{configMapRef: {name: %[1]s}}]}]}}}}`, name, pods))
	}
	return all
}

// kinds are the objects of Fairlead, as their manifests have them now.
func (w *world) kinds() []string {
	return []string{w.steadyManifest(), w.movingManifest(), w.policyOf("web"), w.policyOf("calm"), w.chaosOf("kills", "web", false, "{cron: '0 0 29 2 *'}"),
		w.chaosOf("dry", "calm", true, "{interval: 15s}")}
}

// variants of "steady" publish the same address and port.
var variants = []struct{ name, endpoint, more string }{
	{"as an address", "{name: a, addresses: [IP]}", ""},
	{"under another name", "{name: b, addresses: [IP]}", ""},
	{"as a DNS name", "{name: a, dns: {name: HOST}}", ""},
	{"as a DNS name under another name", "{name: c, dns: {name: HOST}}", ""},
	{"with another interval", "{name: a, addresses: [IP]}", "interval: 2s, timeout: 1s"},
	{"with another threshold", "{name: a, addresses: [IP]}", "failureThreshold: 5"},
}

func (w *world) steadyManifest() string {
	v := variants[w.variant]
	endpoint := strings.NewReplacer("IP", ip(w.steady), "HOST", w.host()).Replace(v.endpoint)
	more := v.more
	if more == "" {
		more = "interval: 1s, timeout: 1s"
	} else if !strings.Contains(more, "interval") {
		more += ", interval: 1s, timeout: 1s"
	}
	return fmt.Sprintf(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: steady}, spec: {ports: [{name: p, port: %d}],
		endpoints: [%s], resolution: {minTTL: 1s}, healthCheck: {tcpSocket: {}, %s}}}`, port, endpoint, more)
}

func (w *world) movingManifest() string {
	return fmt.Sprintf(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: moving}, spec: {ports: [{name: p, port: %d}],
		endpoints: [{name: primary, priority: 0, addresses: [%s]}, {name: standby, priority: 1, addresses: [%s]}], failover: {failbackDelay: 1s},
		healthCheck: {tcpSocket: {}, interval: 1s, timeout: 1s}}}`, port, ip(w.primary), ip(w.standby))
}

func (w *world) policyOf(name string) string {
	return fmt.Sprintf(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: %s}, spec: {
		targets: [{kind: Deployment, selector: {matchLabels: {restart: %[1]s}}}], triggers: [{name: config-%d, type: ConfigChange}],
		debounce: {quietPeriod: 0s}, cooldown: 0s, limit: {maxRestarts: 100, within: 1h}, verification: {soak: 0s, timeout: 5m}}}`, name, w.names[name])
}

func (w *world) chaosOf(name, target string, dry bool, schedule string) string {
	return fmt.Sprintf(`{apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, metadata: {name: %s}, spec: {dryRun: %t, schedule: %s,
		target: {workload: {kind: Deployment, name: %s}}, filter: {minAge: 0s}, safety: {minReady: 1, maxPerDay: 500}, verification: {timeout: 4m, soak: 0s}}}`,
		name, dry, schedule, target)
}

// object reads YAML into the namespace.
func (w *world) object(manifest string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		return nil, fmt.Errorf("%w: %s", err, manifest)
	}
	object.SetNamespace(w.namespace)
	return object, nil
}

func (w *world) create(ctx context.Context, manifest string) error {
	object, err := w.object(manifest)
	if err != nil {
		return err
	}
	if err := framework.Retry(func() error { return w.Client.Create(ctx, object) }); err != nil {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// replace writes an object as kubectl replace does: whatever the manifest does not have is taken away.
func (w *world) replace(ctx context.Context, manifest string) error {
	object, err := w.object(manifest)
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := object.DeepCopy()
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
			return err
		}
		next := object.DeepCopy()
		next.SetResourceVersion(live.GetResourceVersion())
		return w.Client.Update(ctx, next)
	})
}

// rolledOut is nil once each Deployment has its pods, all of its latest template.
func (w *world) rolledOut(ctx context.Context) error {
	var all appsv1.DeploymentList
	if err := w.Client.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	var errs []error
	for i := range all.Items {
		d, st := &all.Items[i], all.Items[i].Status
		if st.ObservedGeneration != d.Generation || st.Replicas != pods || st.UpdatedReplicas != pods || st.AvailableReplicas != pods {
			errs = append(errs, fmt.Errorf("Deployment %s: %d of %d pods are available", d.Name, st.AvailableReplicas, pods))
		}
	}
	return errors.Join(errs...)
}
