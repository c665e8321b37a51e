// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// mayPublish has the rules that a user needs to publish addresses of the cluster.
const mayPublish = `{apiGroups: [""], resources: [services], verbs: [create]}, {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [create]}`

// person is a user who may write ExternalServices in the test's namespace, and little else.
type person struct {
	*suite
	name   string
	client client.Client
}

// newPerson waits until the API server knows what the person may. Further rules are those of a
// Role, in YAML.
func (s *suite) newPerson(name string, rules ...string) *person {
	s.Helper()
	user, c := s.NewWriter(name, &networkingv1.ExternalService{}, "externalservices.networking.fairlead.dev", rules...)
	return &person{s, user, c}
}

// in is the same suite in a subtest.
func (s *suite) in(t *testing.T) *suite { return &suite{s.In(t)} }

func (p *person) in(t *testing.T) *person { return &person{p.suite.in(t), p.name, p.client} }

// create repeats what a busy webhook did not respond to in time.
func (p *person) create(version, name, spec string, options ...client.CreateOption) error {
	p.Helper()
	return framework.Retry(func() error { return p.client.Create(p.Context(), p.object(version, name, spec), options...) })
}

// view reads an ExternalService at a version.
func (p *person) view(version, name string) *unstructured.Unstructured {
	p.Helper()
	object := p.object(version, name, "{}")
	p.Must(p.client.Get(p.Context(), client.ObjectKeyFromObject(object), object))
	return object
}

func (p *person) update(name string, edit func(*unstructured.Unstructured)) error {
	p.Helper()
	return p.updateAt("v1", name, edit)
}

// updateAt reads, edits and writes, again where the operator's own write came between.
func (p *person) updateAt(version, name string, edit func(*unstructured.Unstructured)) error {
	p.Helper()
	for {
		object := p.view(version, name)
		edit(object)
		if err := p.client.Update(p.Context(), object); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// object is an ExternalService with a spec in YAML.
func (s *suite) object(version, name, spec string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	var parsed map[string]any
	s.Must(yaml.Unmarshal([]byte(spec), &parsed))
	object.Object["spec"] = parsed
	object.SetAPIVersion("networking.fairlead.dev/" + version)
	object.SetKind("ExternalService")
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	return object
}

// afterwards deletes an object that is not of the test's namespace.
func (s *suite) afterwards(object client.Object) {
	s.Cleanup(func() { _ = s.Client.Delete(context.Background(), object) })
}

// newNode joins a node, and returns its address and one of its pods'.
func (s *suite) newNode() (address, pod string) {
	s.Helper()
	address = s.Servers.Address()
	part := netip.MustParseAddr(address).As4()
	pods := fmt.Sprintf("172.%d.%d.", 16+part[2]%16, part[3])
	s.join(address, pods+"0/24")
	return address, pods + "9"
}

// join makes a node with an address that may be in use already.
func (s *suite) join(address string, podCIDRs ...string) {
	s.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: s.Namespace + "-"}}
	if len(podCIDRs) > 0 {
		node.Spec.PodCIDR, node.Spec.PodCIDRs = podCIDRs[0], podCIDRs
	}
	s.Must(s.Client.Create(s.Context(), node))
	s.afterwards(node)
	s.Eventually(func() error {
		if err := s.Client.Get(s.Context(), client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}, {Type: corev1.NodeInternalIP, Address: address}}
		return s.Client.Status().Update(s.Context(), node)
	})
}

// service reads a Service.
func (s *suite) service(name string) *corev1.Service {
	s.Helper()
	var service corev1.Service
	s.Must(s.Get(name, &service))
	return &service
}

// expected is nil where err holds every wanted part.
func expected(err error, wanted ...string) error {
	if err == nil {
		return fmt.Errorf("it was allowed, want a refusal with %q", wanted)
	}
	for _, part := range wanted {
		if !strings.Contains(err.Error(), part) {
			return fmt.Errorf("%q lacks %q", err, part)
		}
	}
	return nil
}

// touch changes what nothing depends on.
func touch(o *unstructured.Unstructured) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["reviewed"] += "x"
	o.SetAnnotations(annotations)
}
