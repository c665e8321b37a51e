// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	mountsCRD = "secretproviderclasspodstatuses.secrets-store.csi.x-k8s.io"
	mountsAPI = "secrets-store.csi.x-k8s.io/v1"
)

// The CRD of the Secrets Store CSI driver comes while the operator runs, and goes again. csi replaces the driver.
func TestMountedSecrets(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "early", mounts("vault", "envFrom: [{secretRef: {name: creds}}]"), replicas(2))
	s.nextSecond()
	s.policy("early", "{"+targets(deployment, "early")+", "+onConfig+"}")
	s.condition("early", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonSourceNotFound)
	s.explains("early", autorebootv1.ConditionReady, "trigger config: SecretProviderClass vault is not watched: the API server does not serve "+
		"SecretProviderClassPodStatuses (secrets-store.csi.x-k8s.io/v1): install the Secrets Store CSI driver, or exclude the SecretProviderClass")
	s.secret("creds", "password", "second")
	s.succeeded("early", 1)

	s.KubectlWith("", "apply", "--server-side", "-f", "testdata/secretproviderclasspodstatuses.yaml")
	s.KubectlWith("", "wait", "--for=condition=Established", "--timeout=60s", "crd/"+mountsCRD)
	driver := s.driver()
	driver.mounted("early", 2)
	s.set("early", "{historyLimit: 9}") // it looks again
	s.watching("early", 1)
	driver.rotate("early", "v2", 2)
	s.succeeded("early", 2)

	t.Run("served", func(t *testing.T) {
		for name, test := range map[string]func(*suite){
			"a rotation pod by pod":         aRotationPodByPod,
			"pods that come and go":         podsThatComeAndGo,
			"no rotation by the driver":     noRotationByTheDriver,
			"versions of each pod":          versionsOfEachPod,
			"names, keys and what is left":  namesKeysAndWhatIsLeft,
			"annotations of Reloader":       annotationsOfReloader,
			"forged statuses, and no right": forgedStatusesAndNoRight,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newSuite(t))
			})
		}
	})

	driver.stop()
	s.Delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", mountsCRD)
	s.Eventually(func() error { // another change of the spec has it look again
		s.set("early", fmt.Sprintf("{historyLimit: %d}", 9+time.Now().Second()%2))
		policy, err := s.get("early")
		if err == nil && !strings.Contains(framework.Text(policy.Status.Conditions), "install the Secrets Store CSI driver") {
			err = errors.New("the CRD is gone, and no condition says so")
		}
		return err
	})
	s.Must(s.quiet("early", 2))
}

// mounts is the spec of pods that mount a SecretProviderClass. Further fields of the container are in YAML.
func mounts(class, container string) string {
	return fmt.Sprintf(`{containers: [{name: main, image: none, volumeMounts: [{name: v, mountPath: /mnt}], %s}], volumes: [{name: v, csi: {driver: secrets-store.csi.k8s.io,
		readOnly: true, volumeAttributes: {secretProviderClass: %s}}}]}`, container, class)
}

// csi writes what the driver writes of the pods of a namespace: a status for each pod that has come, which is collected with it.
// The versions of a class are those of the external store, or of each mount where it is called dynamic.
type csi struct {
	*suite
	stop func()

	mu       sync.Mutex
	versions map[string]string
	mounts   int
}

func (s *suite) driver() *csi {
	s.Helper()
	runs, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan struct{})
	d := &csi{suite: s, versions: map[string]string{}, stop: func() { stop(); <-ended }}
	go func() {
		defer close(ended)
		for runs.Err() == nil {
			if err := d.publish(runs); err != nil && runs.Err() == nil {
				s.Logf("the driver: %v", err)
			}
			select {
			case <-runs.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	s.Cleanup(d.stop)
	return d
}

// publish writes the statuses of pods that have none yet.
func (d *csi) publish(ctx context.Context) error {
	var pods corev1.PodList
	if err := d.Client.List(ctx, &pods, client.InNamespace(d.Namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		class := classOf(pod)
		if class == "" || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
			continue
		}
		status, err := d.status(ctx, pod.Name, class)
		if err == nil && status.GetOwnerReferences()[0].UID == pod.UID || client.IgnoreNotFound(err) != nil {
			continue
		}
		if err := d.write(ctx, status, pod, class, d.version(class)); client.IgnoreAlreadyExists(err) != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// version returns the version of a class in the external store.
func (d *csi) version(class string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mounts++; class == "dynamic" {
		return fmt.Sprint("mount-", d.mounts)
	}
	if d.versions[class] == "" {
		d.versions[class] = "v1"
	}
	return d.versions[class]
}

func classOf(pod *corev1.Pod) string {
	for _, v := range pod.Spec.Volumes {
		if v.CSI != nil {
			return v.CSI.VolumeAttributes["secretProviderClass"]
		}
	}
	return ""
}

func (d *csi) status(ctx context.Context, pod, class string) (*unstructured.Unstructured, error) {
	o := d.Object("{apiVersion: " + mountsAPI + ", kind: SecretProviderClassPodStatus, metadata: {name: " + pod + "-" + d.Namespace + "-" + class + "}}")
	return o, d.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
}

// write writes a status as the driver does: one that is there gets the owner and the versions.
func (d *csi) write(ctx context.Context, o *unstructured.Unstructured, pod *corev1.Pod, class, version string) error {
	o.SetLabels(map[string]string{"internal.secrets-store.csi.k8s.io/node-name": pod.Spec.NodeName})
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}})
	o.Object["status"] = map[string]any{
		"podName": pod.Name, "secretProviderClassName": class, "mounted": true, "targetPath": "/var/lib/kubelet/pods/" + string(pod.UID),
		"objects": []any{map[string]any{"id": "kv/password", "version": version}, map[string]any{"id": "user", "version": "1"}},
	}
	if o.GetResourceVersion() == "" {
		return d.Client.Create(ctx, o)
	}
	return d.Client.Update(ctx, o)
}

// mounted waits until so many pods of a workload have mounted what they name.
func (d *csi) mounted(app string, n int) (pods []corev1.Pod) {
	d.Helper()
	d.Eventually(func() error {
		pods = nil
		for _, pod := range d.pods(app) {
			status, err := d.status(d.Context(), pod.Name, classOf(&pod))
			if err == nil && pod.DeletionTimestamp == nil && status.GetOwnerReferences()[0].UID == pod.UID {
				pods = append(pods, pod)
			}
		}
		if len(pods) != n {
			return fmt.Errorf("%d pods of %s have mounted, want %d", len(pods), app, n)
		}
		return nil
	})
	return pods
}

// store has the external store have another version of a class, which pods mount from now on.
func (d *csi) store(class, version string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.versions[class] = version
}

// rotate rotates the pods of a workload one by one, as far as they still exist.
func (d *csi) rotate(app, version string, n int) {
	d.Helper()
	pods := d.mounted(app, n)
	d.nextSecond()
	d.store(classOf(&pods[0]), version)
	for i := range pods {
		pod := &pods[i]
		status, err := d.status(d.Context(), pod.Name, classOf(pod))
		if err == nil && status.GetOwnerReferences()[0].UID == pod.UID {
			err = d.write(d.Context(), status, pod, classOf(pod), version)
		}
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			d.Fatal(err)
		}
		d.nextSecond()
	}
}

// watched makes a workload that mounts a class, and a policy of its name that watches it.
func (d *csi) watched(kind, name, class string, n int64) {
	d.Helper()
	d.run(kind, name, mounts(class, "command: [x]"), replicas(n))
	d.mounted(name, int(n))
	d.policy(name, "{"+targets(kind, name)+", "+onConfig+", debounce: {quietPeriod: 1s}}")
	d.watching(name, 1)
}

// still ends the test unless a policy has ended so many restarts, and goes on having no other.
func (s *suite) still(name string, restarts int) {
	s.Helper()
	s.Eventually(func() error { return s.quiet(name, restarts) })
	s.Never(func() error { return s.quiet(name, restarts) })
}

func aRotationPodByPod(s *suite) {
	d := s.driver()
	d.watched(deployment, "web", "vault", 3)
	d.watched(statefulSet, "db", "vault", 2)
	s.shows("web", func(st autorebootv1.RebootPolicyStatus) error {
		if !slices.ContainsFunc(st.Targets[0].Baselines, func(b autorebootv1.Baseline) bool { return b.Source == "SecretProviderClass/vault" }) {
			return errors.New("no baseline of the class")
		}
		return nil
	})
	d.rotate("web", "v2", 3)
	s.succeeded("web", 1)
	s.succeeded("db", 1) // its pods were not rotated, and have the previous versions
	d.mounted("web", 3)
	d.mounted("db", 2)
	s.still("web", 1)
	s.still("db", 1)
	s.restarted(deployment, "web", 1)
	s.restarted(statefulSet, "db", 1)
}

func podsThatComeAndGo(s *suite) {
	d := s.driver()
	d.watched(deployment, "web", "vault", 2)
	scale := func(n int) {
		s.Merge("apps/v1", deployment, "web", fmt.Sprintf("{spec: {replicas: %d}}", n))
		d.mounted("web", n)
		s.available(deployment, "web")
	}
	scale(0)
	s.Eventually(func() error { return s.quiet("web", 0) })
	scale(2)
	pods := d.mounted("web", 2)
	status, err := d.status(s.Context(), pods[0].Name, "vault")
	s.Must(err)
	s.nextSecond()
	s.Merge(mountsAPI, "SecretProviderClassPodStatus", status.GetName(), "{metadata: {labels: {team: shop}}}")
	s.still("web", 0)

	scale(0) // the secret changes while nothing runs: the new pods have it
	d.store("vault", "v2")
	scale(3)
	s.Eventually(func() error {
		policy, err := s.get("web")
		if err == nil && len(policy.Status.History) > 0 && policy.Status.History[0].Reason != autorebootv1.ReasonNewerPods {
			err = fmt.Errorf("want %s: %s", autorebootv1.ReasonNewerPods, framework.Text(policy.Status.History))
		}
		return err
	})
	d.rotate("web", "v3", 3)
	s.shows("web", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.InFlight) > 0 || s.restartID(deployment, "web") == "" {
			return errors.New("no restart for the rotation")
		}
		return nil
	})
	if n := s.rollouts(deployment, "web"); n != 2 {
		s.Errorf("%d templates, want the first and one restart", n)
	}
}

func noRotationByTheDriver(s *suite) {
	d := s.driver()
	d.watched(deployment, "web", "vault", 2)
	s.nextSecond()
	d.store("vault", "v2")
	s.Merge("apps/v1", deployment, "web", "{spec: {replicas: 3}}") // the new pod mounts the new version
	s.succeeded("web", 1)
	d.mounted("web", 3)
	s.still("web", 1)

	s.nextSecond()
	d.store("vault", "v3")
	s.Merge("apps/v1", deployment, "web", "{spec: {template: {metadata: {annotations: {by: hand}}}}}") // a rollout of others
	s.available(deployment, "web")
	d.mounted("web", 3)
	s.Never(func() error {
		if n := s.rollouts(deployment, "web"); n != 3 {
			return fmt.Errorf("%d templates, want the first, a restart and that of the rollout", n)
		}
		return nil
	})
}

func versionsOfEachPod(s *suite) {
	d := s.driver()
	s.run(deployment, "pair", mounts("dynamic", "command: [x]"), replicas(2))
	d.mounted("pair", 2)
	s.policy("pair", "{"+targets(deployment, "pair")+", "+onConfig+"}")
	s.explains("pair", autorebootv1.ConditionReady, "SecretProviderClass dynamic: each pod has mounted versions of its own")
	s.annotate("pair", autorebootv1.RestartNowAnnotation, "1")
	s.succeeded("pair", 1)
	d.mounted("pair", 2)
	s.Never(func() error { return s.quiet("pair", 1) })
	s.restarted(deployment, "pair", 1)
	s.Merge(autorebootv1.GroupVersion.String(), "RebootPolicy", "pair",
		"{spec: {triggers: [{name: config, type: ConfigChange, configChange: {exclude: [{kind: SecretProviderClass, selector: {}}]}}]}}")
	s.explains("pair", autorebootv1.ConditionReady, "watches nothing")

	other := newSuite(s.T)
	d = other.driver()
	d.watched(deployment, "single", "dynamic", 1)
	other.annotate("single", autorebootv1.RestartNowAnnotation, "1")
	other.shows("single", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.History) == 0 || st.History[len(st.History)-1].Result != autorebootv1.ResultSucceeded {
			return errors.New("not restarted by hand")
		}
		return nil
	})
	d.mounted("single", 1)
	other.Never(func() error { // what the new pod has mounted is no reason to replace it
		if n := other.rollouts(deployment, "single"); n != 2 {
			return fmt.Errorf("%d templates: a restart was the reason of the next", n)
		}
		return nil
	})
}

func namesKeysAndWhatIsLeft(s *suite) {
	d := s.driver()
	s.run(deployment, "web", mounts("vault", "command: [x]"), replicas(1))
	s.run(deployment, "client", bare) // is restarted for what web has mounted
	d.mounted("web", 1)
	const spec = ", triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: SecretProviderClass, name: %s, keys: [%s]}]}}]}"
	s.policy("client", "{"+targets(deployment, "client")+fmt.Sprintf(spec, "vault", "kv/password"))
	s.policy("user", "{"+targets(deployment, "web")+fmt.Sprintf(spec, "vault", "user"))
	s.policy("typo", "{"+targets(deployment, "web")+fmt.Sprintf(spec, "vualt", "user"))
	s.watching("client", 1)
	s.watching("user", 1)
	s.explains("typo", autorebootv1.ConditionReady, "trigger config: SecretProviderClass vualt is mounted by no pod of the namespace")
	d.rotate("web", "v2", 1)
	s.succeeded("client", 1)
	s.still("user", 0)
	for _, wrong := range []string{"{kind: SecretProviderClass, name: a/b}", "{kind: SecretProviderClass, selector: {matchLabels: {a: b}}}", "{kind: SecretProviderClass, selector: {}}"} {
		err := s.Client.Create(s.Context(), s.Object(s.manifest("wrong", "{"+targets(deployment, "web")+", triggers: [{name: config, type: ConfigChange, configChange: {sources: ["+wrong+"]}}]}")))
		if err == nil || !strings.Contains(err.Error(), "spec.triggers[0].configChange.sources[0]") {
			s.Errorf("%s: %v", wrong, err)
		}
	}
}

func annotationsOfReloader(s *suite) {
	d := s.driver()
	annotated := func(name, annotations string) {
		s.workload(deployment, name, mounts("vault", "command: [x]"), func(o *unstructured.Unstructured) error {
			parsed := s.Object("{apiVersion: v1, kind: Pod, metadata: {name: x, annotations: " + annotations + "}}")
			o.SetAnnotations(parsed.GetAnnotations())
			return nil
		})
		s.available(deployment, name)
		d.mounted(name, 1)
	}
	annotated("auto", `{reloader.stakater.com/auto: "true"}`)
	annotated("typed", `{secretproviderclass.reloader.stakater.com/auto: "true"}`)
	annotated("named", `{secretproviderclass.reloader.stakater.com/reload: "vau.*"}`)
	annotated("less", `{reloader.stakater.com/auto: "true", secretproviderclasses.exclude.reloader.stakater.com/reload: vault}`)
	annotated("secrets", `{secret.reloader.stakater.com/auto: "true"}`)
	annotated("own", `{fairlead.dev/restart-on-change: secretproviderclass/vault}`)
	s.policy("p", "{compatibility: Reloader, targets: [{selector: {}, optIn: Annotation}], "+onConfig+"}")
	s.watching("p", 6)
	d.rotate("auto", "v2", 1)
	s.succeeded("p", 4)
	s.still("p", 4)
	for name, times := range map[string]int{"auto": 1, "typed": 1, "named": 1, "less": 0, "secrets": 0, "own": 1} {
		s.restarted(deployment, name, times)
	}
}

func forgedStatusesAndNoRight(s *suite) {
	d := s.driver()
	s.run(deployment, "web", mounts("vault", "command: [x]"), replicas(2))
	d.mounted("web", 2)
	const restart, read = "{apiGroups: [apps], resources: [deployments], verbs: [patch]}",
		"{apiGroups: [secrets-store.csi.x-k8s.io], resources: [secretproviderclasspodstatuses], verbs: [list]}"
	listed := "{" + targets(deployment, "web") + ", triggers: [{name: config, type: ConfigChange, configChange: {sources: [{kind: SecretProviderClass, name: vault}]}}]}"
	s.refused(s.newPerson("writer", restart).tries("p", listed), "spec.triggers[0].configChange.sources[0]",
		"may not list secretproviderclasspodstatuses.secrets-store.csi.x-k8s.io", "leave the source out")
	s.Must(s.newPerson("reader", restart, read).tries("p", listed))
	s.watching("p", 1)

	huge := make([]any, 20000)
	for i := range huge {
		huge[i] = map[string]any{"id": fmt.Sprintf("%032d", i), "version": "x"}
	}
	for name, status := range map[string]map[string]any{
		"not-mounted": {"secretProviderClassName": "vault", "objects": []any{map[string]any{"id": "kv/password", "version": "v9"}}},
		"other":       {"secretProviderClassName": "a/b", "mounted": true},
		"nothing":     nil,
		"large":       {"secretProviderClassName": "large", "mounted": true, "podName": strings.Repeat("x/", 1000), "objects": huge},
	} {
		o := s.Object("{apiVersion: " + mountsAPI + ", kind: SecretProviderClassPodStatus, metadata: {name: " + name + "}}")
		if status != nil {
			o.Object["status"] = status
		}
		s.Must(s.Client.Create(s.Context(), o))
	}
	s.policy("large", "{"+targets(deployment, "web")+", triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: SecretProviderClass, name: large}]}}]}")
	s.watching("large", 1)
	s.still("p", 0)
	d.rotate("web", "v2", 2)
	s.succeeded("p", 1)
}
