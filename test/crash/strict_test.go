// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package crash

import (
	"context"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// strict is a user who may do what the operator may, but for listing and watching what holds
// configuration.
func (s *suite) strict() cluster.User {
	s.Helper()
	user, err := s.User("strict")
	s.Must(err)
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user.Name}}
	var shipped []rbacv1.PolicyRule
	for _, name := range framework.Roles {
		var role rbacv1.ClusterRole
		s.Must(s.Client.Get(s.Context(), client.ObjectKey{Name: name}, &role))
		shipped = append(shipped, role.Rules...)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "strict"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get"}},
	}}
	for _, rule := range shipped {
		if slices.Contains(rule.APIGroups, "") {
			rule.Resources = slices.DeleteFunc(rule.Resources, func(resource string) bool { return resource == "configmaps" || resource == "secrets" })
		}
		if len(rule.Resources) > 0 {
			role.Rules = append(role.Rules, rule)
		}
	}
	for _, object := range []client.Object{
		role,
		&rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "strict", Namespace: framework.Namespace}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "fairlead-manager"},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "strict-rebootpolicy", Namespace: framework.Namespace}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "fairlead-rebootpolicy-manager"},
		},
	} {
		s.Must(s.Client.Create(s.Context(), object))
		s.Cleanup(func() { _ = s.Client.Delete(context.Background(), object) })
	}
	return user
}

func TestWithoutTheRightToListSecretsNoChangeIsLostEither(t *testing.T) {
	t.Parallel()
	s := newWorkload(t, autorebootv1.StrategyRolloutRestart, "0s")
	g := s.newGatewayFor(s.strict())
	replica := s.launch(g, "--leader-elect=false", "--set=rebootPolicies.sources=Poll", "--set=rebootPolicies.sourcesPollInterval=1s")
	s.watched()
	s.change("while it looks")
	s.Eventually(func() error { return s.ended(1) })
	s.Eventually(g.still)
	replica.Kill()
	s.change("while no replica runs")
	s.change("twice")
	s.Must(replica.Start(t.Context()))
	s.Eventually(func() error { return s.ended(2) })
	s.Eventually(g.still)
	s.restarted(autorebootv1.StrategyRolloutRestart, 2)
}
