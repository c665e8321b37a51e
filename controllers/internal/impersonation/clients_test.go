// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package impersonation

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestClientsOfServiceAccountsAreKeptWithinABound(t *testing.T) {
	made := map[string]int{}
	own := fake.NewClientBuilder().Build()
	c := New(own, nil)
	c.make = func(user string) (client.Client, error) {
		made[user]++
		return fake.NewClientBuilder().Build(), nil
	}
	if got, err := c.As("shop", ""); err != nil || got != own {
		t.Errorf("without a ServiceAccount: %v, %v", got, err)
	}
	for i := range maxClients + 1 {
		for _, account := range []string{fmt.Sprint(i), "busy"} {
			if _, err := c.As("shop", account); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := c.As("shop", "0"); err != nil {
		t.Fatal(err)
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
