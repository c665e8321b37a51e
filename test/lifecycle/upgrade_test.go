// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// upgraded is a kind with users' objects at both versions.
type upgraded struct {
	kind     string
	resource schema.GroupResource
	// specs by version, in YAML, with a number for %d.
	specs map[string]string
	// edits by version: what users change of them.
	edits map[string]string
}

var upgradedKinds = []upgraded{
	{
		"ChaosPod", schema.GroupResource{Group: "chaos.fairlead.dev", Resource: "chaospods"},
		map[string]string{
			"v1alpha1": `{template: {metadata: {labels: {app: "canary-%[1]d"}}, spec: {containers: [{name: c, image: nginx}]}}, nextStop: "2099-01-01T00:00:00Z"}`,
			"v1":       `{suspend: true, target: {workload: {kind: Deployment, name: "web-%[1]d"}}, schedule: {interval: 1h}, verification: {timeout: 3m}}`,
		},
		map[string]string{"v1alpha1": `{"nextStop":"2098-01-01T00:00:%02dZ"}`, "v1": `{"schedule":{"interval":"%dm"}}`},
	},
	{
		"ExternalService", schema.GroupResource{Group: "networking.fairlead.dev", Resource: "externalservices"},
		map[string]string{
			"v1alpha1": `{ports: [{name: http, port: 80}, {name: https, port: 443}], endpoints: [{name: east, addresses: [192.0.2.%[1]d]}], resolution: {minTTL: 30s, maxTTL: 24h}}`,
			"v1":       `{suspend: true, deletionPolicy: Orphan, ports: [{name: sql, port: 5432, targetPort: 6000}], endpoints: [{name: east, zone: eu-east, addresses: [192.0.2.%[1]d]}]}`,
		},
		map[string]string{"v1alpha1": `{"resolution":{"maxTTL":"%dm"}}`, "v1": `{"endpoints":[{"name":"east","zone":"eu-east","addresses":["192.0.2.%d"]}]}`},
	},
	{
		"RebootPolicy", schema.GroupResource{Group: "autoreboot.fairlead.dev", Resource: "rebootpolicies"},
		map[string]string{
			"v1alpha1": `{targets: [{kind: Deployment, name: "web-%[1]d"}], cooldown: 10m, policies: [{name: wedged, type: Probe, description: restart when stuck, probe: {
  httpGet: {path: /healthz, port: 8080}, interval: 30s, timeout: 5s, failureThreshold: 5}}]}`,
			"v1": `{cooldown: 7m, targets: [{kind: Deployment, name: "web-%[1]d"}, {kind: Deployment, name: api}], triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`,
		},
		map[string]string{"v1alpha1": `{"targets":[{"kind":"Deployment","name":"web-%d"}]}`, "v1": `{"cooldown":"%dm"}`},
	},
}

const (
	quietOnes = 9 // objects of each kind and version that stay as they are
	busyOnes  = 2 // those that a user writes
	writes    = "load.example.com/writes"
)

// The CRDs are replaced, then the operator, and a leader is killed on the way. What is stored reads as before, no write
// that was answered is lost, and no workload is touched.
func TestAnUpgradeOfCRDsAndOperatorUnderWritersLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	namespace := s.NewNamespace()
	for i := range 3 {
		s.Kubectl("create", "deployment", fmt.Sprintf("web-%d", i+1), "-n", namespace, "--image=nginx", "--replicas=0")
	}
	for _, crd := range framework.Definitions { // as of a release before
		s.Kubectl("patch", "crd", crd, "--type=json", "-p", `[{"op": "remove", "path": "/spec/names/categories"}]`)
	}
	before := []*replica{s.start(), s.start()}
	s.Must(s.Reachable(t.Context()))
	for _, k := range upgradedKinds {
		for version := range k.specs {
			for i := range quietOnes + busyOnes {
				s.Must(s.writeAs(k, version, namespace, i))
			}
		}
	}
	views, deployments := s.views(namespace), s.deployments(namespace)
	users := s.users(namespace)

	s.Must(s.Reinstall(t.Context()))
	killed := s.Leader()
	killed.Kill()
	s.Must(s.FreeLease(t.Context()))
	s.Retire(killed)
	s.start()
	s.start()
	for _, r := range before {
		if r.Replica != killed {
			s.Retire(r.Replica)
		}
	}
	s.Leader()

	users.end()
	if diff := cmp.Diff(views, s.views(namespace)); diff != "" {
		t.Errorf("objects read differently (-before +after):\n%.5000s", diff)
	}
	if diff := cmp.Diff(deployments, s.deployments(namespace)); diff != "" {
		t.Errorf("generations of Deployments (-before +after):\n%s", diff)
	}
}

func (s *suite) objects(k upgraded, version, namespace string) dynamic.ResourceInterface {
	return s.Dynamic.Resource(k.resource.WithVersion(version)).Namespace(namespace)
}

// writeAs creates the ith object of a kind and version, as one of several clients does.
func (s *suite) writeAs(k upgraded, version, namespace string, i int) error {
	name := version + "-" + strconv.Itoa(i)
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, "{spec: "+k.specs[version]+"}", i%3+1), &object.Object); err != nil {
		return err
	}
	object.SetAPIVersion(k.resource.Group + "/" + version)
	object.SetKind(k.kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	objects := s.objects(k, version, namespace)
	switch i % 3 {
	case 0: // as kubectl create does
		_, err := objects.Create(s.Context(), object, metav1.CreateOptions{FieldManager: "kubectl-create"})
		return err
	case 1: // as kubectl apply does
		object.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": framework.Text(object.Object)})
		_, err := objects.Create(s.Context(), object, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
		return err
	default: // as kubectl apply --server-side does, and another manager at v1
		if _, err := objects.Apply(s.Context(), name, object, metav1.ApplyOptions{FieldManager: "kubectl"}); err != nil {
			return err
		}
		label := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.resource.Group + "/v1", "kind": k.kind,
			"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"team": "payments"}}}}
		_, err := s.objects(k, "v1", namespace).Apply(s.Context(), name, label, metav1.ApplyOptions{FieldManager: "labeler"})
		return err
	}
}

// isBusy reports whether a user writes the object of this name.
func isBusy(name string) bool {
	i, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return err == nil && i >= quietOnes
}

// views returns what readers see at either version of the quiet objects, once the reconcilers write no more.
func (s *suite) views(namespace string) map[string]any {
	s.Helper()
	last, since := map[string]any{}, time.Now()
	s.Eventually(func() error {
		now := map[string]any{}
		for _, k := range upgradedKinds {
			for version := range k.specs {
				list, err := s.objects(k, version, namespace).List(s.Context(), metav1.ListOptions{})
				if err != nil {
					return err
				}
				for _, object := range list.Items {
					if !isBusy(object.GetName()) {
						object.SetResourceVersion("")
						now[k.kind+" "+object.GetName()+" at "+version] = object.Object
					}
				}
			}
		}
		if want := len(upgradedKinds) * 2 * 2 * quietOnes; len(now) != want {
			return fmt.Errorf("%d views of objects, want %d", len(now), want)
		}
		if !reflect.DeepEqual(last, now) {
			last, since = now, time.Now()
		}
		if time.Since(since) < 3*time.Second {
			return errors.New("objects still change")
		}
		return nil
	})
	return last
}

// deployments are the generations of the Deployments of a namespace.
func (s *suite) deployments(namespace string) map[string]int64 {
	s.Helper()
	list, err := s.Kube.AppsV1().Deployments(namespace).List(s.Context(), metav1.ListOptions{})
	s.Must(err)
	all := map[string]int64{}
	for _, d := range list.Items {
		all[d.Name] = d.Generation
	}
	return all
}

// users write all the while, one for each kind and version.
type users struct {
	end func()
}

func (s *suite) users(namespace string) *users {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	var (
		running sync.WaitGroup
		made    calls
		mu      sync.Mutex
		taken   = map[string]int{} // the last write of each object that was answered
	)
	s.Cleanup(func() { stop(); running.Wait() })
	for _, k := range upgradedKinds {
		for version := range k.specs {
			running.Go(func() {
				n := 0
				made.keep(ctx, 250*time.Millisecond, func(ctx context.Context) error {
					n++
					name := version + "-" + strconv.Itoa(quietOnes+n%busyOnes)
					err := write(ctx, s.objects(k, version, namespace), name, edit(k, version, n), n)
					if err == nil {
						mu.Lock()
						defer mu.Unlock()
						taken[k.kind+" "+name] = n
					}
					return err
				})
			})
		}
	}
	return &users{end: func() {
		s.Helper()
		stop()
		running.Wait()
		for _, k := range upgradedKinds {
			for version := range k.specs {
				for i := range busyOnes {
					s.holdsWrite(k, version, namespace, version+"-"+strconv.Itoa(quietOnes+i), taken)
				}
			}
		}
		s.Logf("users made %d writes meanwhile; failed: %q", made.made, made.failures)
	}}
}

// edit is the nth write of a user.
func edit(k upgraded, version string, n int) string { return fmt.Sprintf(k.edits[version], n%50+1) }

// write changes the spec and the counter in one request: by a patch, or by reading and replacing.
func write(ctx context.Context, objects dynamic.ResourceInterface, name, spec string, n int) error {
	var patch map[string]any
	if err := json.Unmarshal(fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}},"spec":%s}`, writes, n, spec), &patch); err != nil {
		return err
	}
	if n%3 != 0 {
		_, err := objects.Patch(ctx, name, types.MergePatchType, []byte(framework.Text(patch)), metav1.PatchOptions{})
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		merge(object.Object, patch)
		_, err = objects.Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}

// merge sets members, one below the other.
func merge(into, from map[string]any) {
	for member, value := range from {
		below, isObject := value.(map[string]any)
		if !isObject {
			into[member] = value
			continue
		}
		inner, _ := into[member].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			into[member] = inner
		}
		merge(inner, below)
	}
}

// holdsWrite wants the last write of an object that was answered to be there, or a later one: a write that was not
// answered may have been stored.
func (s *suite) holdsWrite(k upgraded, version, namespace, name string, taken map[string]int) {
	s.Helper()
	object, err := s.objects(k, version, namespace).Get(s.Context(), name, metav1.GetOptions{})
	s.Must(err)
	answered := taken[k.kind+" "+name]
	n, err := strconv.Atoi(object.GetAnnotations()[writes])
	if err != nil || n < answered || answered == 0 {
		s.Errorf("%s %s has the write %d (%v), and %d was answered", k.kind, name, n, err, answered)
		return
	}
	want, spec := map[string]any{}, object.Object["spec"].(map[string]any)
	s.Must(json.Unmarshal([]byte(edit(k, version, n)), &want))
	merged := unstructured.Unstructured{Object: spec}
	after := merged.DeepCopy().Object
	merge(after, want)
	if diff := cmp.Diff(framework.Text(after), framework.Text(spec)); diff != "" {
		s.Errorf("%s %s does not have what write %d said (-want +got):\n%s", k.kind, name, n, diff)
	}
}
