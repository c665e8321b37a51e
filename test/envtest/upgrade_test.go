// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package envtest

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// An installation that stored v1alpha1 is upgraded: the operator's caches list at v1 what is stored at
// v1alpha1, so they sync through the webhooks of the very process that waits for them.
func TestTheCachesSyncThroughTheOperatorsOwnConversion(t *testing.T) {
	env := install()
	if err := envtest.ReadCRDFiles(&env.CRDInstallOptions); err != nil {
		t.Fatal(err)
	}
	store(env.CRDInstallOptions.CRDs, "v1alpha1")
	env.CRDInstallOptions.Paths = nil
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(env.Config, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	// No webhook is called while no operator runs.
	registrations := registered(env)
	for _, webhooks := range registrations {
		if err := c.Delete(t.Context(), webhooks); err != nil {
			t.Fatal(err)
		}
		webhooks.SetResourceVersion("")
		webhooks.SetUID("")
	}
	old := &networkingv1alpha1.ExternalService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"},
		Spec: networkingv1alpha1.ExternalServiceSpec{
			Endpoints: []networkingv1.Endpoint{{Name: "a", Addresses: []networkingv1.IPAddress{"192.0.2.30"}}, {Name: "b", Addresses: []networkingv1.IPAddress{"192.0.2.31"}}},
			Ports:     []networkingv1.ServicePort{{Name: "smtp", Port: 25}},
		},
	}
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}

	store(env.CRDs, "v1")
	if err := envtest.CreateCRDs(env.Config, env.CRDs); err != nil {
		t.Fatal(err)
	}
	if err := env.WebhookInstallOptions.Install(env.Config); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), &networkingv1.ExternalService{}); err == nil {
		t.Fatal("what is stored at v1alpha1 is read at v1 while no operator runs: it is not stored at v1alpha1")
	}

	runOperator(t, env)
	stored := &networkingv1.ExternalService{}
	eventually(t, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(old), stored)
		return err == nil && meta.IsStatusConditionTrue(stored.Status.Conditions, networkingv1.ConditionReady), err
	})
	if len(stored.Spec.Endpoints) != 2 {
		t.Errorf("the endpoints read back at v1 as %+v", stored.Spec.Endpoints)
	}
	read := &networkingv1alpha1.ExternalService{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), read); err != nil || len(read.Spec.Endpoints) != 2 {
		t.Errorf("the endpoints read back at v1alpha1 as %v: %v", read.Spec.Endpoints, err)
	}
}

// store sets the version that the CRDs store.
func store(crds []*apiextensionsv1.CustomResourceDefinition, version string) {
	for _, crd := range crds {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
	}
}

// registered returns the webhook configurations that the environment has installed.
func registered(env *envtest.Environment) []client.Object {
	var all []client.Object
	for _, webhooks := range env.WebhookInstallOptions.MutatingWebhooks {
		all = append(all, webhooks)
	}
	for _, webhooks := range env.WebhookInstallOptions.ValidatingWebhooks {
		all = append(all, webhooks)
	}
	return all
}
