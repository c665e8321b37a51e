// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// many is how many objects of each kind a benchmark has.
const many = 10_000

// memory is an API server that costs next to nothing: 10,000 Deployments with a Secret and a policy of their own.
type memory struct {
	lists   map[reflect.Type][]runtime.Object
	secrets map[string]*corev1.Secret
}

func newMemory(b *testing.B) *memory {
	m := &memory{lists: map[reflect.Type][]runtime.Object{}, secrets: map[string]*corev1.Secret{}}
	for i := range many {
		name := fmt.Sprintf("a-%05d", i)
		d, p := deployment(name, name), policy(b, name, "{targets: [{kind: Deployment, name: "+name+"}], triggers: [{name: config, type: ConfigChange}]}")
		m.lists[reflect.TypeFor[*autorebootv1.RebootPolicyList]()] = append(m.lists[reflect.TypeFor[*autorebootv1.RebootPolicyList]()], p)
		list := reflect.TypeFor[*appsv1.DeploymentList]()
		m.lists[list] = append(m.lists[list], d)
		m.secrets[name] = secret(name, map[string]string{"password": "hunter2"})
	}
	return m
}

func (m *memory) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s, is := into.(*corev1.Secret); is && m.secrets[key.Name] != nil {
		*s = *m.secrets[key.Name]
		return nil
	}
	return apierrors.NewNotFound(corev1.Resource("x"), key.Name)
}

func (m *memory) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	return meta.SetList(into, m.lists[reflect.TypeOf(into)])
}

// BenchmarkManyObjects foresees a change of one Secret of 10,000, and manifests with all of them.
func BenchmarkManyObjects(b *testing.B) {
	m := newMemory(b)
	options := Options{Reader: m, OperatorNamespace: "fairlead-system", Now: noon}
	var documents strings.Builder
	for name := range m.secrets {
		fmt.Fprintf(&documents, "---\n{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {password: hunter3}}\n", name)
	}
	key := login
	key.Name = "a-00007"
	for name, run := range map[string]func() (*Forecast, error){
		"a Secret": func() (*Forecast, error) { return OfSource(b.Context(), options, key, nil) },
		"all Secrets": func() (*Forecast, error) {
			all := &Manifests{Namespace: "shop"}
			if err := all.Read("", strings.NewReader(documents.String())); err != nil {
				return nil, err
			}
			return OfManifests(b.Context(), options, all)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := run()
				if err != nil || len(f.Restarts) == 0 {
					b.Fatal(f, err)
				}
				if err := f.WriteText(io.Discard, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
