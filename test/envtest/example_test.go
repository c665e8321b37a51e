// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package envtest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	networkingv1alpha1 "github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// fairlead is a checkout of Fairlead. Another module finds the one that it requires with
// `go list -m -f '{{.Dir}}' github.com/fairlead-dev/fairlead`.
const fairlead = "../.."

// install returns an environment that installs Fairlead.
func install() *envtest.Environment {
	webhooks := envtest.WebhookInstallOptions{
		Paths: []string{filepath.Join(fairlead, "config", "webhook")},
		// The types implement neither conversion.Hub nor conversion.Convertible, which envtest looks for:
		// without this it removes the conversion from the CRDs, and every field that only the other
		// version has reads as empty.
		IgnoreSchemeConvertible: true,
	}
	return &envtest.Environment{
		CRDInstallOptions: envtest.CRDInstallOptions{
			Paths:              []string{filepath.Join(fairlead, "config", "crd", "bases")},
			ErrorIfPathMissing: true,
		},
		WebhookInstallOptions:    webhooks,
		BinaryAssetsDirectory:    assets, // used where KUBEBUILDER_ASSETS is not set
		ControlPlaneStartTimeout: 5 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
}

// scheme knows the kinds that the tests use, at both versions.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(autorebootv1.AddToScheme(s))
	utilruntime.Must(networkingv1.AddToScheme(s))
	utilruntime.Must(networkingv1alpha1.AddToScheme(s))
	return s
}

func TestAnExternalServiceIsDefaultedConvertedAndPublished(t *testing.T) {
	c := start(t, install())
	created := &networkingv1alpha1.ExternalService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mail"},
		Spec: networkingv1alpha1.ExternalServiceSpec{
			Endpoints: []networkingv1.Endpoint{{Name: "a", Addresses: []networkingv1.IPAddress{"192.0.2.25"}}},
			Ports:     []networkingv1.ServicePort{{Name: "smtp", Port: 25}},
		},
	}
	if err := c.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}

	stored := &networkingv1.ExternalService{}
	eventually(t, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(created), stored)
		return err == nil && meta.IsStatusConditionTrue(stored.Status.Conditions, networkingv1.ConditionReady), err
	})
	if got := ptr.Deref(stored.Spec.DeletionPolicy, ""); got != networkingv1.DeletionDelete {
		t.Errorf("the mutating webhook has set deletionPolicy to %q, not to its default", got)
	}
	if len(stored.Spec.Endpoints) != 1 || stored.Spec.Endpoints[0].Addresses[0] != "192.0.2.25" {
		t.Errorf("the endpoint reads back at v1 as %+v", stored.Spec.Endpoints)
	}
	service := &corev1.Service{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(created), service); err != nil {
		t.Error(err)
	}
	slices := &discoveryv1.EndpointSliceList{}
	if err := c.List(t.Context(), slices, client.InNamespace("default"),
		client.MatchingLabels{discoveryv1.LabelServiceName: "mail"}); err != nil || len(slices.Items) != 1 {
		t.Errorf("%d EndpointSlices: %v", len(slices.Items), err)
	}
}

// A rule that no schema can hold: the webhook checks it.
func TestARebootPolicyWhoseScheduleIsNotValidIsRefused(t *testing.T) {
	c := start(t, install())
	err := c.Create(t.Context(), &autorebootv1.RebootPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"},
		Spec: autorebootv1.RebootPolicySpec{
			Targets: []autorebootv1.Target{{Kind: "Deployment", Name: "web"}},
			Triggers: []autorebootv1.Trigger{{
				Name: "nightly", Type: autorebootv1.TriggerSchedule, Schedule: &autorebootv1.ScheduleTrigger{Cron: "0 25 * * *"},
			}},
		},
	})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.triggers[0].schedule.cron") {
		t.Errorf("a schedule at 25 o'clock: %v, and not that it is invalid", err)
	}
}

// start starts an environment and the operator in it until the test ends, and returns a client.
func start(t *testing.T, env *envtest.Environment) client.Client {
	t.Helper()
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	return runOperator(t, env)
}

// runOperator runs the operator in an environment that has started, until the test ends.
func runOperator(t *testing.T, env *envtest.Environment) client.Client {
	t.Helper()
	stop, err := startOperator(context.WithoutCancel(t.Context()), env, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// Before the environment stops, or the operator logs that the API server is gone.
	t.Cleanup(func() {
		if log, err := stop(); err != nil || t.Failed() {
			t.Errorf("the operator ended with %v; its log:\n%s", err, log)
		}
	})
	c, err := client.New(env.Config, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits until a condition holds.
func eventually(t *testing.T, holds wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 5*time.Minute, true, holds); err != nil {
		t.Fatal(err)
	}
}
