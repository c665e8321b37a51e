// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// split is Fairlead with webhooks and reconcilers in processes of their own. Each kind of process runs with the rights that
// config/split gives it and no others.
type split struct {
	*suite
	webhooksAs, reconcilersAs string // kubeconfigs
}

func (s *suite) split() *split {
	s.Helper()
	s.applyRights(filepath.Join(framework.Root, "config", "split"))
	s.Cleanup(func() {
		s.Must(s.Reinstall(context.WithoutCancel(s.Context())))
		for _, of := range []string{"clusterrole,clusterrolebinding", "role,rolebinding,serviceaccount"} {
			_, err := s.Cluster.Kubectl(context.WithoutCancel(s.Context()), "delete", of, "--all-namespaces", "--selector=app.kubernetes.io/component=webhook")
			s.Must(err)
		}
	})
	a := &split{suite: s}
	for account, to := range map[string]*string{"fairlead-webhook": &a.webhooksAs, "fairlead-manager": &a.reconcilersAs} {
		user, err := s.ServiceAccount(framework.Namespace, account)
		s.Must(err)
		*to = user.Kubeconfig
	}
	return a
}

// applyRights applies the accounts, roles and bindings of a folder of manifests.
func (s *suite) applyRights(folder string) {
	s.Helper()
	var rights strings.Builder
	for _, object := range s.Objects(s.Rendered(folder)) {
		if group := object.GroupVersionKind().Group; group == "rbac.authorization.k8s.io" || object.GetKind() == "ServiceAccount" {
			rights.WriteString("---\n" + framework.Text(object.Object) + "\n")
		}
	}
	s.Apply(rights.String(), "--server-side", "--force-conflicts")
}

// reconciler runs a replica without webhooks, which is behind no Service.
func (a *split) reconciler(args ...string) *replica {
	a.Helper()
	return a.launch(framework.Patient(append([]string{"--kubeconfig=" + a.reconcilersAs, "--set=webhook.enabled=false", "--set=rebootPolicies.sources=Poll"}, args...)...)...)
}

// webhook runs a replica without reconcilers, and returns when it serves.
func (a *split) webhook(args ...string) *replica {
	a.Helper()
	// With a file that says what both need.
	return a.start(slices.Concat([]string{"--kubeconfig=" + a.webhooksAs, "--set=controllers.enabled=false", "--leader-elect"}, args)...)
}

// alongside sends writes at v1 beside the load's at v1alpha1, and counts them with it.
func (a *split) alongside(load *traffic, namespace, name string) {
	ctx, cancel := context.WithCancel(a.Context())
	ended := make(chan struct{})
	before := load.end
	load.end = func() { cancel(); <-ended; before() }
	a.Cleanup(load.end)
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			// An annotation: admission looks at it, and no other client writes it.
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/turn":"%d"}}}`, i)
			_, err := a.Dynamic.Resource(services).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			if ctx.Err() != nil {
				return
			}
			load.sent.Add(1)
			if err != nil {
				load.failed.Add(1)
				load.first.CompareAndSwap(nil, "at v1: "+err.Error())
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
}

// eventuallyReady waits for /readyz.
func (r *replica) eventuallyReady() {
	r.suite.Helper()
	r.suite.Eventually(func() error { return r.Ready(r.suite.Context()) })
}

// skips wants phases to be none of the replica's.
func (r *replica) skips(reason string, phases ...string) {
	r.suite.Helper()
	shown, err := r.status()
	r.suite.Must(err)
	for _, p := range shown.Phases {
		if want := slices.Contains(phases, p.Phase); want != (p.State == "skipped") || want && !strings.Contains(p.Detail, reason) {
			r.suite.Errorf("%s: phase %s is %s: %s", r.ID, p.Phase, p.State, p.Detail)
		}
	}
}

// listens says whether anybody takes connections where webhooks would be.
func (r *replica) listens() bool {
	conn, err := (&net.Dialer{Timeout: framework.Patience}).DialContext(r.suite.Context(), "tcp", r.Webhook)
	if err == nil {
		r.suite.Must(conn.Close())
		return true
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		r.suite.Fatal(err)
	}
	return false
}

// permitted wants no line of the log to tell of a right that was missing.
func (r *replica) permitted() {
	r.suite.Helper()
	text, err := r.Logs()
	r.suite.Must(err)
	for line := range strings.Lines(text) {
		if strings.Contains(line, "orbidden") || strings.Contains(line, "cannot list") {
			r.suite.Errorf("%s lacks a right: %.500s", r.ID, line)
		}
	}
}
