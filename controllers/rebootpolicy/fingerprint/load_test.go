// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package fingerprint_test

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
)

const (
	home = "fairlead-system"
	name = fingerprint.DefaultSecret
)

func load(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	k, err := fingerprint.Load(t.Context(), client, home, "")
	if err != nil {
		t.Fatal(err)
	}
	return k.Sum("same")
}

func TestAKeyIsMadeOnceAndThenRead(t *testing.T) {
	client := fake.NewClientset()
	first := load(t, client)
	stored, err := client.CoreV1().Secrets(home).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Data) != 1 || len(stored.Data["key"]) != fingerprint.Size || bytes.Equal(stored.Data["key"], make([]byte, fingerprint.Size)) {
		t.Errorf("the Secret holds %d keys, and one of %d bytes", len(stored.Data), len(stored.Data["key"]))
	}
	if stored.Type != corev1.SecretTypeOpaque || stored.Immutable == nil || !*stored.Immutable {
		t.Errorf("type %s, immutable %v", stored.Type, stored.Immutable)
	}
	if again := load(t, client); again != first {
		t.Error("the second start has another key")
	}
	if other := load(t, fake.NewClientset()); other == first {
		t.Error("two installations have the same key")
	}
}

func TestReplicasThatStartAtOnceEndWithTheSameKey(t *testing.T) {
	client := fake.NewClientset()
	first := load(t, client)
	// The second has looked before the first had made it.
	early := true
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !early {
			return false, nil, nil
		}
		early = false
		return true, nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	})
	if second := load(t, client); second != first {
		t.Error("the second has another key")
	}
	if early {
		t.Error("the key was not looked for")
	}
}

func TestABrokenKeyIsAnErrorWithItsRemedy(t *testing.T) {
	for what, data := range map[string]map[string][]byte{
		"no data":   nil,
		"other key": {"other": bytes.Repeat([]byte("K"), fingerprint.Size)},
		"too short": {"key": []byte("KKKK")},
		"too long":  {"key": bytes.Repeat([]byte("K"), 64)},
	} {
		client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}, Data: data})
		_, err := fingerprint.Load(t.Context(), client, home, "")
		if err == nil {
			t.Fatalf("%s: it was taken", what)
		}
		for _, part := range []string{home + "/" + name, "delete the Secret", "restarts nothing for earlier changes"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", what, err, part)
			}
		}
		if strings.Contains(err.Error(), "KKK") {
			t.Errorf("%s: %q holds the key", what, err)
		}
	}
}

func TestAKeyThatMayNotBeReadIsNotReplaced(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), name, nil)
	})
	if _, err := fingerprint.Load(t.Context(), client, home, ""); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" {
			t.Errorf("it did %s", action.GetVerb())
		}
	}
}
