// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	autorebootv1alpha1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	chaosv1alpha1 "github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/controllers/chaospod"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/secretsstore"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	admitchaospod "github.com/fairlead-dev/fairlead/webhooks/admission/chaospod"
	admitexternalservice "github.com/fairlead-dev/fairlead/webhooks/admission/externalservice"
	admitrebootpolicy "github.com/fairlead-dev/fairlead/webhooks/admission/rebootpolicy"
)

// kind is one of the operator's kinds, with what each part of the operator needs of it.
type kind struct {
	schema.GroupVersionKind // at the stored version

	definition string        // the name of its CRD
	object     client.Object // empty, at the stored version
	types      []func(*runtime.Scheme) error

	// admit returns the webhooks of admission by path.
	admit func(common admission.Options, r reviews) map[string]http.Handler
	// warns means that admission reads objects of the kind for its warnings. Every replica then caches the kind, at the stored
	// version, which needs no conversion.
	warns bool
	// addresses means that its objects have addresses, which the egress policy must allow.
	addresses bool
	// disrupts means that its controller disrupts workloads. The controller then finds pods by an index, and claims workloads
	// in the ledger.
	disrupts bool

	// controller returns the controller and the kinds that it reads; nil if an operator with this configuration has none.
	controller func(b *controllerBuilder, ctx context.Context, registry prometheus.Registerer) (controller, []client.Object, error)
	// restore adds the claims of its objects to the ledger, if it disrupts workloads.
	restore func(ctx context.Context, from client.Reader, ledger *disruption.Ledger, among ...client.ListOption) error
}

// kinds are the kinds of an operator, or all kinds of Fairlead.
type kinds []kind

// allKinds returns all kinds of Fairlead. A kind that is missing here has no CRD, webhook, cache or controller.
func allKinds() kinds {
	return kinds{
		{
			GroupVersionKind: networkingv1.GroupVersion.WithKind("ExternalService"),
			definition:       "externalservices.networking.fairlead.dev",
			object:           &networkingv1.ExternalService{},
			types:            []func(*runtime.Scheme) error{networkingv1.AddToScheme, networkingv1alpha1.AddToScheme},
			admit: func(common admission.Options, r reviews) map[string]http.Handler {
				return admitexternalservice.New(admitexternalservice.Options{
					Handler: common, Policy: r.policy, Reviewer: r.reviewer, Services: r.services, Isolation: r.isolation,
					Finalize: r.finalize,
				})
			},
			addresses:  true,
			controller: (*controllerBuilder).externalServices,
		},
		{
			GroupVersionKind: autorebootv1.GroupVersion.WithKind("RebootPolicy"),
			definition:       "rebootpolicies.autoreboot.fairlead.dev",
			object:           &autorebootv1.RebootPolicy{},
			types:            []func(*runtime.Scheme) error{autorebootv1.AddToScheme, autorebootv1alpha1.AddToScheme},
			admit: func(common admission.Options, r reviews) map[string]http.Handler {
				return admitrebootpolicy.New(admitrebootpolicy.Options{
					Handler: common, Policy: r.policy, Reviewer: r.reviewer, Warnings: r.warnings, Workloads: r.workloads,
				})
			},
			warns:      true,
			addresses:  true,
			disrupts:   true,
			controller: (*controllerBuilder).rebootPolicies,
			restore:    rebootpolicy.Restore,
		},
		{
			GroupVersionKind: autorebootv1.GroupVersion.WithKind("ClusterRebootPolicy"),
			definition:       "clusterrebootpolicies.autoreboot.fairlead.dev",
			object:           &autorebootv1.ClusterRebootPolicy{},
			admit: func(common admission.Options, r reviews) map[string]http.Handler {
				return admitrebootpolicy.NewCluster(admitrebootpolicy.ClusterOptions{
					Handler: common, Reviewer: r.reviewer, Workloads: r.workloads, Unavailable: r.unavailable,
				})
			},
			controller: (*controllerBuilder).clusterRebootPolicies,
		},
		{
			GroupVersionKind: chaosv1.GroupVersion.WithKind("ChaosPod"),
			definition:       "chaospods.chaos.fairlead.dev",
			object:           &chaosv1.ChaosPod{},
			types:            []func(*runtime.Scheme) error{chaosv1.AddToScheme, chaosv1alpha1.AddToScheme},
			admit: func(common admission.Options, r reviews) map[string]http.Handler {
				return admitchaospod.New(admitchaospod.Options{
					Handler: common, Policy: r.policy, Reviewer: r.reviewer, Warnings: r.warnings, Pods: r.pods,
				})
			},
			warns:      true,
			addresses:  true,
			disrupts:   true,
			controller: (*controllerBuilder).chaosPods,
			restore:    chaospod.Restore,
		},
	}
}

// NewScheme returns a scheme with the types of Kubernetes, of Rollouts, and of every version of Fairlead's kinds. Kinds
// that are left out are included, since others refer to them.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := []func(*runtime.Scheme) error{clientscheme.AddToScheme, argorollouts.AddToScheme, secretsstore.AddToScheme}
	for _, kind := range allKinds() {
		add = append(add, kind.types...)
	}
	for _, add := range add {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	return scheme, nil
}

// split returns the kinds that a configuration names and those that it leaves out.
func (k kinds) split(c *options.Configuration) (named, leftOut kinds) {
	for _, one := range k {
		if c.HasKind(one.Kind) {
			named = append(named, one)
		} else {
			leftOut = append(leftOut, one)
		}
	}
	return named, leftOut
}

// gvks returns the kinds at their stored versions.
func (k kinds) gvks() []schema.GroupVersionKind {
	all := make([]schema.GroupVersionKind, 0, len(k))
	for _, kind := range k {
		all = append(all, kind.GroupVersionKind)
	}
	return all
}

// warn returns the kinds that admission reads from the cache for its warnings.
func (k kinds) warn() []client.Object {
	var all []client.Object
	for _, kind := range k {
		if kind.warns {
			all = append(all, kind.object)
		}
	}
	return all
}

// definitions returns the names of the CRDs.
func (k kinds) definitions() []string {
	all := make([]string, 0, len(k))
	for _, kind := range k {
		all = append(all, kind.definition)
	}
	return all
}

// names returns the name of each kind by a function, such as its plural.
func (k kinds) names(of func(kind string) string) []string {
	all := make([]string, 0, len(k))
	for _, kind := range k {
		all = append(all, of(kind.Kind))
	}
	return all
}

// haveAddresses reports whether one of the kinds has addresses.
func (k kinds) haveAddresses() bool {
	return slices.ContainsFunc(k, func(one kind) bool { return one.addresses })
}

// disrupt reports whether one of the kinds disrupts workloads.
func (k kinds) disrupt() bool {
	return slices.ContainsFunc(k, func(one kind) bool { return one.disrupts })
}
