// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/spelling"
)

// hub is the version at which objects are stored, and the rules written.
const hub = "v1"

// kind holds the checks' data about one kind.
type kind struct {
	schema.GroupKind
	plural    string
	ofCluster bool
	// definition compiles the CRD, which takes long enough to do it only for kinds that occur.
	definition func() (*crdschema.Kind, error)
	schemas    func() schemas
	table      spelling.Table
	validate   func(raw []byte) (admissionResult, error)
	overlaps   overlapFinder
}

// admissionResult is the webhooks' verdict on an object at the hub version.
type admissionResult struct {
	object   any // a pointer to the type of the kind, with its defaults
	errors   field.ErrorList
	warnings []string
}

// webhookRules are the webhooks' rules of a kind.
type webhookRules[T any] struct {
	Default  func(obj *T)
	Validate func(obj, old *T) field.ErrorList
	Warnings func(obj, old *T) []string
	// Fields checks what the schema does not look into, in JSON. Nil where the schema checks all.
	Fields func(obj, old []byte) field.ErrorList
}

// validate runs the webhooks' steps for an object that is created. The error is that of decoding.
func (w webhookRules[T]) validate(raw []byte) (admissionResult, error) {
	var errs field.ErrorList
	if w.Fields != nil {
		errs = w.Fields(raw, nil)
	}
	obj := new(T)
	if err := jsonv2.Unmarshal(raw, obj); err != nil {
		if len(errs) > 0 {
			err = nil // it is about one of them
		}
		return admissionResult{errors: errs}, err
	}
	w.Default(obj)
	return admissionResult{obj, append(errs, w.Validate(obj, nil)...), w.Warnings(obj, nil)}, nil
}

func kinds() []*kind {
	return []*kind{
		newKind(networkingv1.GroupVersion, "ExternalService", "externalservices", nil,
			webhookRules[networkingv1.ExternalService]{externalservice.Default, externalservice.Validate, externalservice.Warnings, nil}),
		newKind(autorebootv1.GroupVersion, "RebootPolicy", "rebootpolicies",
			overlapsOf(targetsOf, rebootpolicy.Overlaps),
			webhookRules[autorebootv1.RebootPolicy]{rebootpolicy.Default, rebootpolicy.Validate, rebootpolicy.Warnings, nil}),
		ofCluster(newKind(autorebootv1.GroupVersion, "ClusterRebootPolicy", "clusterrebootpolicies", nil,
			webhookRules[autorebootv1.ClusterRebootPolicy]{
				func(*autorebootv1.ClusterRebootPolicy) {}, rebootpolicy.ValidateCluster, rebootpolicy.ClusterWarnings, nil,
			})),
		newKind(chaosv1.GroupVersion, "ChaosPod", "chaospods", overlapsOf(workloadOf, chaospod.Overlaps),
			webhookRules[chaosv1.ChaosPod]{chaospod.Default, chaospod.Validate, chaospod.Warnings, chaospod.ValidateFields}),
	}
}

// ofCluster is a kind whose objects have no namespace.
func ofCluster(k *kind) *kind {
	k.ofCluster = true
	return k
}

func newKind[T any](
	gv schema.GroupVersion, name, plural string, overlaps overlapFinder, rules webhookRules[T],
) *kind {
	table, _ := spelling.Of(gv.WithKind(name).GroupKind())
	return &kind{
		GroupKind: gv.WithKind(name).GroupKind(), plural: plural,
		definition: definition(gv.Group, plural), schemas: schemasOf(gv.Group, plural),
		table: table, validate: rules.validate, overlaps: overlaps,
	}
}

// parsed are the functions that parse the CRDs of this release, each once in a process.
var parsed sync.Map

func definition(group, plural string) func() (*crdschema.Kind, error) {
	once, _ := parsed.LoadOrStore(plural+"."+group, sync.OnceValues(func() (*crdschema.Kind, error) {
		text, err := crd.Definition(group, plural)
		if err != nil {
			return nil, err
		}
		compiled, err := crdschema.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("CRD of %s.%s: %w", plural, group, err)
		}
		return compiled, nil
	}))
	return once.(func() (*crdschema.Kind, error)) //nolint:errcheck,forcetypeassert // what is stored above
}

func schemasOf(group, plural string) func() schemas {
	return sync.OnceValue(func() schemas {
		text, err := crd.Definition(group, plural)
		if err != nil {
			return nil
		}
		return readSchemas(text)
	})
}

const (
	// maxOverlaps bounds with how many other objects one is compared.
	maxOverlaps = 3
	// maxRemembered bounds the objects that later ones are compared with: they stay in memory.
	maxRemembered = 20_000
)

// overlapFinder returns, of the objects of a kind in the order in which they come, what the webhook
// would say of each about those before it. It is nil for kinds that do not act on workloads.
type overlapFinder func() func(obj any) []string

// overlapsOf finds those that name the same workload, so that thousands of objects are not compared
// with one another.
func overlapsOf[T any, P interface {
	*T
	metav1.Object
}](names func(obj *T) []string, overlaps func(obj *T, others []T) []string) overlapFinder {
	return func() func(obj any) []string {
		before, remembered := map[string][]P{}, 0
		return func(given any) []string {
			obj, ok := given.(*T)
			if !ok {
				return nil
			}
			var met []P
			for _, name := range names(obj) {
				key := P(obj).GetNamespace() + "/" + name
				met = append(met, before[key]...)
				if len(before[key]) < maxOverlaps && remembered < maxRemembered {
					remembered++
					before[key] = append(before[key], obj)
				}
			}
			var others []T
			for _, other := range first(met, maxOverlaps) {
				others = append(others, *other)
			}
			return overlaps(obj, others)
		}
	}
}

// first returns the first values, each once and so many at most.
func first[V comparable](values []V, most int) (some []V) {
	for _, value := range values {
		if len(some) < most && !slices.Contains(some, value) {
			some = append(some, value)
		}
	}
	return some
}

// targetsOf names what a RebootPolicy restarts.
func targetsOf(obj *autorebootv1.RebootPolicy) []string {
	names := make([]string, 0, len(obj.Spec.Targets))
	for i := range obj.Spec.Targets {
		t := &obj.Spec.Targets[i]
		name := string(common.KindOfGroup(t.Group, t.Kind)) + "/" + t.Name
		if selector, err := json.Marshal(t.Selector); err == nil && t.Selector != nil {
			name += "?" + string(selector)
		}
		names = append(names, name)
	}
	return names
}

// workloadOf names what a ChaosPod acts on; pods chosen by labels take a cluster to know.
func workloadOf(obj *chaosv1.ChaosPod) []string {
	w := obj.Spec.Target.Workload
	if w == nil {
		return nil
	}
	return []string{string(w.Kind) + "/" + w.Name}
}
