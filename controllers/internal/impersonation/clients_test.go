// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package impersonation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestClientsOfServiceAccountsAreKeptWithinABound(t *testing.T) {
	made := map[string]int{}
	own := fake.NewClientBuilder().Build()
	live := fake.NewClientBuilder()
	for _, name := range append(numbers(maxClients+1), "busy") {
		live.WithObjects(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
	}
	c := New(own, live.Build(), nil)
	c.make = func(user string) (client.Client, error) {
		made[user]++
		return fake.NewClientBuilder().Build(), nil
	}
	if got, err := c.As(t.Context(), "shop", ""); err != nil || got != own {
		t.Errorf("without a ServiceAccount: %v, %v", got, err)
	}
	for i := range maxClients + 1 {
		for _, account := range []string{fmt.Sprint(i), "busy"} {
			if _, err := c.As(t.Context(), "shop", account); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := c.As(t.Context(), "shop", "0"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.As(t.Context(), "shop", "deleted"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a ServiceAccount that does not exist: %v", err)
	}
	if len(c.byUser) != maxClients || c.recent.Len() != maxClients {
		t.Errorf("%d clients are kept", len(c.byUser))
	}
	for user, want := range map[string]int{"busy": 1, "0": 2} {
		if got := made["system:serviceaccount:shop:"+user]; got != want {
			t.Errorf("the client of %s was made %d times", user, got)
		}
	}
	for user := range made {
		if !strings.HasPrefix(user, "system:serviceaccount:shop:") {
			t.Errorf("acts as %s", user)
		}
	}
}

func numbers(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(i))
	}
	return names
}
