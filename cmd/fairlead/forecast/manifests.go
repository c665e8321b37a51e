// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Manifests are the objects that a pull request would apply.
type Manifests struct {
	// Namespace of objects that have none.
	Namespace string
	// Convert returns an object of Fairlead at the version that is stored.
	Convert func(object []byte) ([]byte, error)

	// Documents counts those with content.
	Documents int
	objects   map[inspect.Key]client.Object
	keys      []inspect.Key // in the order of the documents
	twice     []string
	// hasCluster means that a ClusterRebootPolicy is among them.
	hasCluster bool
	// untyped counts what is no object of Kubernetes.
	untyped int
}

// newObject returns an empty object of a kind that matters; nil for others.
func newObject(gk schema.GroupKind) client.Object {
	switch gk {
	case schema.GroupKind{Kind: inspect.ConfigMap}:
		return &corev1.ConfigMap{}
	case schema.GroupKind{Kind: inspect.Secret}:
		return &corev1.Secret{}
	case autorebootv1.GroupVersion.WithKind(inspect.RebootPolicy).GroupKind():
		return &autorebootv1.RebootPolicy{}
	case autorebootv1.GroupVersion.WithKind(inspect.ClusterRebootPolicy).GroupKind():
		return &autorebootv1.ClusterRebootPolicy{}
	case networkingv1.GroupVersion.WithKind(inspect.ExternalService).GroupKind():
		return &networkingv1.ExternalService{}
	case chaosv1.GroupVersion.WithKind(inspect.ChaosPod).GroupKind():
		return &chaosv1.ChaosPod{}
	}
	for _, kind := range workloadkinds.Known {
		if kind.GroupKind() == gk {
			return kind.Object()
		}
	}
	return nil
}

// Read reads the documents of a file. The error names the document.
func (m *Manifests) Read(_ string, content io.Reader) error {
	splitter := manifest.NewSplitter(content, files.DefaultMaxBytes)
	for in := 1; ; in++ {
		part, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.Empty() {
			continue
		}
		m.Documents++
		for _, reading := range manifest.Read(part) {
			if err := m.value(reading); err != nil {
				if bytes.Contains(part.Text, []byte("{{")) {
					return fmt.Errorf("document %d looks like a Helm template: give what `helm template` prints instead", in)
				}
				return fmt.Errorf("document %d%w", in, err)
			}
		}
	}
}

// value takes the objects of a value. The error begins with where it is.
func (m *Manifests) value(reading manifest.Reading) (failed error) {
	atLine := func(p manifest.Problem) error { return fmt.Errorf(", line %d: %s", p.Line, p.Message) }
	if reading.Err != nil {
		return atLine(*reading.Err)
	}
	reading.Root.AllProblems(func(_ string, p manifest.Problem) { failed = cmp.Or(failed, atLine(p)) })
	if failed != nil {
		return failed
	}
	reading.Root.Objects(func(n *manifest.Node, gvk schema.GroupVersionKind) {
		if err := m.add(n, gvk); err != nil && failed == nil {
			failed = fmt.Errorf(": %w", err)
		}
	})
	return failed
}

// add takes an object whose kind matters.
func (m *Manifests) add(n *manifest.Node, gvk schema.GroupVersionKind) error {
	gk := gvk.GroupKind()
	if gk.Kind == "" {
		m.untyped++
	}
	object := newObject(gk)
	if object == nil {
		return nil
	}
	name := gvk.Kind + " " + n.Get("metadata").Text("name")
	raw, err := json.Marshal(n.Exact())
	if err == nil && gvk.Version != "v1" && gk.Kind != inspect.Rollout && m.Convert != nil {
		raw, err = m.Convert(raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, object)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if object.GetName() == "" {
		return fmt.Errorf("%s: metadata.name is missing; give rendered manifests", gvk.Kind)
	}
	switch {
	case gk.Kind == inspect.ClusterRebootPolicy:
		m.hasCluster = true
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace(m.Namespace)
	}
	key := inspect.Key{Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if m.objects[key] == nil {
		m.keys = append(m.keys, key)
	} else {
		m.twice = append(m.twice, key.String())
	}
	if m.objects == nil {
		m.objects = map[inspect.Key]client.Object{}
	}
	m.objects[key] = object
	return nil
}

// notes are about what the manifests leave open.
func (m *Manifests) notes() (found []string) {
	if m.untyped > 0 {
		found = append(found, events.Plural(m.untyped, "document is no object", "documents are no objects")+" of Kubernetes, and not considered.")
	}
	if len(m.twice) > 0 {
		found = append(found, "Some objects are given twice, and the last one counts, as with kubectl apply: "+events.Summarize(m.twice)+".")
	}
	return found
}

// namespaces are those of the objects that matter: all where a ClusterRebootPolicy is among them.
func (m *Manifests) namespaces() (found []string) {
	if m.hasCluster {
		return []string{metav1.NamespaceAll}
	}
	seen := map[string]bool{}
	for _, key := range m.keys {
		if !seen[key.Namespace] {
			seen[key.Namespace] = true
			found = append(found, key.Namespace)
		}
	}
	return found
}
