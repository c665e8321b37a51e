// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package crash

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// shard runs an operator that reconciles the namespaces with a label, and ends with the test.
func (s *suite) shard(name string) *framework.Replica {
	s.Helper()
	replica, err := s.Launch(s.Context(), "--set=webhook.enabled=false", "--leader-elect=false",
		"--set=shard.name="+name, "--set=shard.namespaceSelector=fairlead.dev/shard="+name)
	s.Must(err)
	s.Cleanup(replica.Kill)
	return replica
}

// give labels the test's namespace for a shard.
func (s *suite) give(shard string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	s.Must(s.Client.Patch(s.Context(), namespace, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"fairlead.dev/shard":%q}}}`, shard))))
}

// While a workload restarts, its namespace goes from shard to shard and back, and the shard that has it is killed.
func TestANamespaceThatMovesBetweenShardsHasOneRestartForAChange(t *testing.T) {
	t.Parallel()
	for _, strategy := range []autorebootv1.StrategyType{autorebootv1.StrategyRolloutRestart, autorebootv1.StrategyEvict} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s := newWorkload(t, strategy, "300ms")
			rights := filepath.Join(framework.Root, "config", "shards")
			_, err := s.Cluster.Kubectl(t.Context(), "apply", "--server-side", "-f", filepath.Join(rights, "role.yaml"), "-f", filepath.Join(rights, "role_binding.yaml"))
			s.Must(err)
			names := []string{s.Namespace + "-a", s.Namespace + "-b"}
			running := map[string]*framework.Replica{}
			for _, name := range names {
				running[name] = s.shard(name)
			}
			s.give(names[0])
			s.watched()
			moves, kills := 0, 0
			const changes = 3
			for n := range changes {
				s.change(fmt.Sprintf("value-%d", n))
				for s.ended(n+1) != nil {
					if moves > 200 {
						t.Fatalf("%v after %d moves", s.ended(n+1), moves)
					}
					moves++
					owner := names[moves%2]
					s.give(owner)
					select { // at whatever point it has come to
					case <-time.After(time.Duration(200+moves*173%900) * time.Millisecond):
					case <-t.Context().Done():
					}
					if moves%5 == 0 {
						kills++
						running[owner].Kill()
						running[owner] = s.shard(owner)
					}
				}
			}
			s.restarted(strategy, changes)
			t.Logf("%d moves and %d kills for %d changes", moves, kills, changes)
		})
	}
}
