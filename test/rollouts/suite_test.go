// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	argo     = "argoproj.io/v1alpha1"
	policies = "autoreboot.fairlead.dev/v1"
)

var (
	tests = framework.NewTests(16)
	open  = framework.Shared(func() (*framework.Cluster, error) {
		return tests.OpenReplicas(framework.Options{Cluster: cluster.Options{Nodes: 1, PodCIDR: "198.19.0.0/16"}},
			framework.CloneSets)
	})
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// suite is the namespace of one test.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{framework.NewTest(t, open(t))}
}

// rollout writes a Rollout, whose pods take the Secret creds as their environment. Further fields of its spec are in YAML.
func rollout(name, spec string) string {
	return fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: %s, labels: {app: %[1]s}}, spec: {%s,
		selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}},
		spec: {containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}]}]}}}}`, name, spec)
}

const (
	// plain is a canary without steps, all of whose pods may be restarted at once.
	plain = "strategy: {canary: {maxUnavailable: 100%}}"
	// stepwise waits for a user in the middle of an update.
	stepwise = "strategy: {canary: {steps: [{setWeight: 50}, {pause: {}}]}}"
)

// policy applies a RebootPolicy that waits for little.
func (s *suite) policy(name, spec string) {
	s.Helper()
	all, own := map[string]any{}, map[string]any{}
	s.Must(yaml.Unmarshal([]byte(`{debounce: {quietPeriod: 1s}, cooldown: 0s, concurrency: {maxTargets: 100%},
		triggers: [{name: config, type: ConfigChange}], retry: {maxAttempts: 0, backoff: 1s}, verification: {soak: 1s, timeout: 90s}}`), &all))
	s.Must(yaml.Unmarshal([]byte(spec), &own))
	maps.Copy(all, own)
	s.Apply(framework.Text(map[string]any{"apiVersion": policies, "kind": "RebootPolicy", "metadata": map[string]any{"name": name}, "spec": all}))
}

// target writes Rollouts as the targets of a policy.
func target(names ...string) string {
	var items []string
	for _, name := range names {
		items = append(items, "{group: argoproj.io, kind: Rollout, name: "+name+"}")
	}
	return "{targets: [" + strings.Join(items, ", ") + "]}"
}

// secret writes the Secret creds.
func (s *suite) secret(password string) {
	s.Helper()
	s.Apply("{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: " + password + "}}")
}

// read reads a Rollout.
func (s *suite) read(name string) *unstructured.Unstructured {
	s.Helper()
	o := s.Object("{apiVersion: " + argo + ", kind: Rollout, metadata: {name: " + name + "}}")
	s.Must(s.Client.Get(s.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// phase waits until the controller of Argo Rollouts says this of a Rollout.
func (s *suite) phase(name, phase string) {
	s.Helper()
	s.Eventually(func() error {
		if o := s.read(name); text(o, "status", "phase") != phase || text(o, "status", "observedGeneration") != fmt.Sprint(o.GetGeneration()) {
			return fmt.Errorf("%s: want phase %s: %s", name, phase, framework.Text(o.Object["status"]))
		}
		return nil
	})
}

// pods are those of a Rollout that are not about to end.
func (s *suite) pods(name string) (pods []corev1.Pod) {
	s.Helper()
	var list corev1.PodList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace), client.MatchingLabels{"app": name}))
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// shows waits until ask is content with the status of a policy.
func (s *suite) shows(name string, ask func(*autorebootv1.RebootPolicyStatus) error) *autorebootv1.RebootPolicyStatus {
	s.Helper()
	var policy autorebootv1.RebootPolicy
	s.Eventually(func() error {
		if err := s.Get(name, &policy); err != nil {
			return err
		}
		if policy.Status.ObservedGeneration != policy.Generation {
			return fmt.Errorf("%s: generation %d is not observed yet", name, policy.Generation)
		}
		if err := ask(&policy.Status); err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, framework.Text(policy.Status))
		}
		return nil
	})
	return &policy.Status
}

// says waits until a condition has a status, a reason and pieces of a message.
func (s *suite) says(name, condition string, status metav1.ConditionStatus, reason string, pieces ...string) *autorebootv1.RebootPolicyStatus {
	s.Helper()
	return s.shows(name, func(st *autorebootv1.RebootPolicyStatus) error {
		c := meta.FindStatusCondition(st.Conditions, condition)
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("want %s=%s %s", condition, status, reason)
		}
		return framework.Holds(c.Message, pieces...)
	})
}

// watching waits until a policy watches all that it names.
func (s *suite) watching(name string, targets int) {
	s.Helper()
	s.shows(name, func(st *autorebootv1.RebootPolicyStatus) error {
		if !meta.IsStatusConditionTrue(st.Conditions, autorebootv1.ConditionReady) || len(st.Targets) != targets {
			return fmt.Errorf("want Ready=True and %d targets", targets)
		}
		return nil
	})
}

// ended waits until so many restarts have ended, no more, and returns them, the latest first.
func (s *suite) ended(name string, n int) []autorebootv1.RestartRecord {
	s.Helper()
	history := s.shows(name, func(st *autorebootv1.RebootPolicyStatus) error {
		if len(st.History) < n || len(st.InFlight) > 0 {
			return fmt.Errorf("%d restarts have ended, want %d", len(st.History), n)
		}
		return nil
	}).History
	if len(history) > n {
		s.Fatalf("%s: %d restarts, want %d: %s", name, len(history), n, framework.Text(history))
	}
	return history
}

// succeeded is ended, where all of them went well.
func (s *suite) succeeded(name string, n int) {
	s.Helper()
	for _, record := range s.ended(name, n) {
		if record.Result != autorebootv1.ResultSucceeded || record.Target.Group != "argoproj.io" {
			s.Errorf("%s: want %s of a Rollout: %s", name, autorebootv1.ResultSucceeded, framework.Text(record))
		}
	}
}

// settle waits until no pod is of this second: a change then is later than all of them.
func settle() { <-time.After(1100 * time.Millisecond) }

// clusterPolicy makes a ClusterRebootPolicy of the namespace, which makes no policy there before a workload asks for one.
func (s *suite) clusterPolicy(target string) {
	s.Helper()
	s.Make(`{apiVersion: ` + policies + `, kind: ClusterRebootPolicy, metadata: {name: ` + s.Namespace + `}, spec: {
		namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + s.Namespace + `}},
		template: {spec: {targets: [` + target + `], debounce: {quietPeriod: 1s},
			triggers: [{name: config, type: ConfigChange}], verification: {soak: 1s}}}}}`)
	s.Cleanup(func() {
		s.Must(s.Client.Delete(context.Background(), s.Object("{apiVersion: "+policies+", kind: ClusterRebootPolicy, metadata: {name: "+s.Namespace+"}}")))
	})
	s.Eventually(func() error {
		var p autorebootv1.ClusterRebootPolicy
		if err := s.Client.Get(s.Context(), client.ObjectKey{Name: s.Namespace}, &p); err != nil || !meta.IsStatusConditionTrue(p.Status.Conditions, autorebootv1.ConditionReady) {
			return fmt.Errorf("not ready: %s", framework.Text(p.Status))
		}
		return nil
	})
	if err := s.Get(s.Namespace, &autorebootv1.RebootPolicy{}); !apierrors.IsNotFound(err) {
		s.Errorf("there is a policy, and no workload asks for it: %v", err)
	}
}

// run makes Rollouts, and waits until they are healthy.
func (s *suite) run(manifests ...string) {
	s.Helper()
	var names []string
	for _, manifest := range manifests {
		names = append(names, s.Make(manifest).GetName())
	}
	for _, name := range names {
		s.phase(name, "Healthy")
	}
	settle()
}
