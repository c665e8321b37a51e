// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// cluster holds the objects of a test, and the reads that are forbidden, as "get secrets".
type cluster struct {
	objects []client.Object
	refused []string
}

func (c *cluster) options(t testing.TB) Options {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, argorollouts.AddToScheme, networkingv1.AddToScheme, chaosv1.AddToScheme, autorebootv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(verb string, object runtime.Object) error {
		_, kind, _ := strings.Cut(fmt.Sprintf("%T", object), ".")
		resource := strings.ToLower(strings.TrimSuffix(kind, "List")) + "s"
		if slices.Contains(c.refused, verb+" "+resource) {
			return apierrors.NewForbidden(corev1.Resource(resource), "", fmt.Errorf("no"))
		}
		return nil
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if err := refuse("get", into); err != nil {
				return err
			}
			return inner.Get(ctx, key, into, opts...)
		},
		List: func(ctx context.Context, inner client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
			if err := refuse("list", into); err != nil {
				return err
			}
			return inner.List(ctx, into, opts...)
		},
	}).Build()
	return Options{Reader: reader, OperatorNamespace: "fairlead-system", Now: noon}
}

func deployment(name, secret string) *appsv1.Deployment {
	one := int32(1)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Generation: 1, Labels: map[string]string{"app": name}},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1",
				EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}}}}}}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
	}
}

func policy(t testing.TB, name, spec string) *autorebootv1.RebootPolicy {
	t.Helper()
	p := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	p.Annotations = map[string]string{common.ApprovedByAnnotation: approval.Value("ann", approval.RebootPolicyDigest(&p.Spec))}
	return p
}

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

const byReference = `{targets: [{kind: Deployment, selector: {}}], triggers: [{name: config, type: ConfigChange}]}`

// shop has two Deployments with Secrets of their own, and a policy that restarts both.
func shop(t testing.TB) *cluster {
	return &cluster{objects: []client.Object{
		deployment("api", "db-login"), deployment("web", "web-login"), policy(t, "payments", byReference),
		secret("db-login", map[string]string{"user": "hunter1", "password": "hunter2"}), secret("web-login", map[string]string{"a": "b"}),
	}}
}

func (c *cluster) ofSource(t testing.TB, key inspect.Key, keys ...string) *Forecast {
	t.Helper()
	f, err := OfSource(t.Context(), c.options(t), key, keys)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (c *cluster) ofManifests(t testing.TB, manifests string) *Forecast {
	t.Helper()
	m := &Manifests{Namespace: "shop"}
	if err := m.Read("", strings.NewReader(manifests)); err != nil {
		t.Fatal(err)
	}
	f, err := OfManifests(t.Context(), c.options(t), m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// said is a Forecast as text, after tests that no form has a value of a Secret.
func said(t testing.TB, f *Forecast) string {
	t.Helper()
	var text, markdown strings.Builder
	if err := f.WriteText(&text, noon); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteMarkdown(&markdown, noon); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String()+markdown.String()+fmt.Sprintf("%+v", f), "hunter") {
		t.Errorf("a value of a Secret is shown: %s", text.String())
	}
	return text.String()
}

func expect(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

var login = inspect.Key{Kind: inspect.Secret, Namespace: "shop", Name: "db-login"}

func TestASourceThatChangesRestartsWhatRefersToIt(t *testing.T) {
	text := said(t, shop(t).ofSource(t, login))
	expect(t, text, "Secret shop/db-login changes in the keys password; user. Watched by RebootPolicy payments.",
		"Deployment shop/api restarts as number 1 of RebootPolicy payments", "Trigger config (ConfigChange) sees Secret/db-login change in the keys password; user.",
		"It starts at 2026-03-02T12:00:02Z (in 2s) at the earliest.", "Held by Debouncing: for further changes until 2026-03-02T12:00:02Z.", "1 workload would restart.")
	if strings.Contains(text, "web") {
		t.Errorf("web does not refer to it:\n%s", text)
	}
}

// rollout has the pod template of a Deployment with the Secret, by reference where one is named.
func rollout(name, secret, deploymentName string) *argorollouts.Rollout {
	d := deployment(name, secret)
	r := &argorollouts.Rollout{
		TypeMeta: metav1.TypeMeta{APIVersion: argorollouts.GroupVersion.String(), Kind: inspect.Rollout}, ObjectMeta: d.ObjectMeta,
		Spec:   argorollouts.Spec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
		Status: argorollouts.Status{ObservedGeneration: "1", Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, CurrentPodHash: "a", StableRS: "a"},
	}
	if deploymentName != "" {
		r.Spec.Template, r.Spec.WorkloadRef = corev1.PodTemplateSpec{}, &argorollouts.WorkloadRef{Kind: "Deployment", Name: deploymentName}
	}
	return r
}

func TestRolloutsAreForeseenWhereTheyCanBeRead(t *testing.T) {
	c := shop(t)
	c.objects = append(c.objects, rollout("checkout", "db-login", ""), rollout("cart", "", "api"),
		policy(t, "checkout", `{targets: [{group: argoproj.io, selector: {}}, {kind: Deployment, name: api}], triggers: [{name: config, type: ConfigChange}]}`))
	text := said(t, c.ofSource(t, login))
	expect(t, text, "Deployment shop/api restarts as number ", "Rollout shop/checkout restarts as number ", "Rollout shop/cart restarts as number ", "of RebootPolicy checkout")
	if strings.Contains(text, "Not known") {
		t.Errorf("all was read:\n%s", text)
	}
	expect(t, said(t, c.ofManifests(t, `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: checkout}, spec: {template: {spec: {containers: [{name: a, image: "a:2"}]}}}}`)),
		"Rollout shop/checkout is rolled out at once by its own controller, since its pod template changes.")
	c.refused = []string{"list rollouts"}
	expect(t, said(t, c.ofSource(t, login)), "Not known: rollouts.argoproj.io could not be read: you have no permission: grant list on rollouts.argoproj.io in namespace shop.",
		"Deployment shop/api restarts as number 1 of RebootPolicy checkout")
	c.objects = c.objects[:len(c.objects)-1]
	if text := said(t, c.ofSource(t, login)); strings.Contains(text, "rollouts") {
		t.Errorf("nothing has to do with Rollouts:\n%s", text)
	}
}

func TestSecretsThatPodsMountAreAssumedToBeRotated(t *testing.T) {
	t.Parallel()
	web := deployment("web", "web-login")
	web.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: "secrets-store.csi.k8s.io", VolumeAttributes: map[string]string{"secretProviderClass": "vault"}}}}}
	c := &cluster{objects: []client.Object{web, policy(t, "p", byReference)}}
	f := c.ofSource(t, inspect.Key{Kind: inspect.SecretProviderClass, Namespace: "shop", Name: "vault"}, "kv/password")
	if len(f.Restarts) != 1 || f.Restarts[0].Causes[0].Source != "SecretProviderClass/vault" || len(f.Unread) > 0 || f.Sources[0].Change != Changed {
		t.Errorf("%+v", f)
	}
	expect(t, said(t, f), "SecretProviderClass", "vault", "kv/password", "Deployment", "web")
}

func TestKeysThatDoNotCountRestartNothing(t *testing.T) {
	c := shop(t)
	c.objects[2] = policy(t, "payments", `{targets: [{kind: Deployment, selector: {}}], triggers: [{name: config, type: ConfigChange, configChange: {exclude: [{kind: Secret, name: db-login, keys: [user]}]}}]}`)
	expect(t, said(t, c.ofSource(t, login, "user")), "changes in the key user. Watched by RebootPolicy payments. Not restarted, though they refer to it: deployment/api.", "No workload restarts.")
	expect(t, said(t, c.ofSource(t, login, "password")), "sees Secret/db-login change in the key password.")
}

func TestASourceThatNoPolicyWatches(t *testing.T) {
	c := shop(t)
	c.objects = slices.Delete(c.objects, 2, 3)
	expect(t, said(t, c.ofSource(t, login)), "No RebootPolicy that could be read watches it. Not restarted, though they refer to it: deployment/api.", "No workload restarts.")
}

func TestASourceThatDoesNotExistIsCreated(t *testing.T) {
	c := shop(t)
	c.objects = c.objects[:3]
	expect(t, said(t, c.ofSource(t, login)), "Secret shop/db-login is created, which restarts workloads only where onCreate is Restart. Watched by RebootPolicy payments.", "No workload restarts.")
	c.objects[2] = policy(t, "payments", `{targets: [{kind: Deployment, selector: {}}], triggers: [{name: config, type: ConfigChange, configChange: {onCreate: Restart}}]}`)
	expect(t, said(t, c.ofSource(t, login)), "Trigger config (ConfigChange) sees Secret/db-login change in the key any key.")
}

func TestASourceThatMayNotBeReadCountsAsChanged(t *testing.T) {
	c := shop(t)
	c.refused = []string{"get secrets"}
	text := said(t, c.ofSource(t, login))
	expect(t, text, "Secret shop/db-login could not be read, and is assumed to change in the key any key.", "Deployment shop/api restarts",
		"Not known: secrets/db-login in namespace shop could not be read: you have no permission: grant get on secrets in namespace shop.")
	expect(t, said(t, c.ofManifests(t, "{apiVersion: v1, kind: Secret, metadata: {name: db-login}, stringData: {password: hunter3}}")),
		"is assumed to change in the key password", "Deployment shop/api restarts")
}

func TestWhatCouldNotBeReadIsNotNothing(t *testing.T) {
	c := shop(t)
	c.refused = []string{"list rebootpolicys"}
	expect(t, said(t, c.ofSource(t, login)), "Whether a workload restarts is unknown.", "Not known: rebootpolicies.autoreboot.fairlead.dev could not be read")
	c.refused = []string{"list deployments"}
	expect(t, said(t, c.ofSource(t, login)), "Whether a workload restarts is unknown.", "Not known: deployments.apps could not be read")
	c.refused = []string{"get configmaps"}
	expect(t, said(t, c.ofSource(t, login)), "Not known: configmaps/fairlead-calendar in namespace fairlead-system could not be read", "1 workload would restart.")
}

func TestTargetsOfKindsThatAreNotReadAreNamed(t *testing.T) {
	c := shop(t)
	c.objects = append(c.objects, &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "clones"}, Spec: autorebootv1.RebootPolicySpec{
		Targets: []autorebootv1.Target{{Group: "apps.kruise.io", Kind: "CloneSet", Name: "web"}}, Triggers: []autorebootv1.Trigger{{Name: "config", Type: "ConfigChange"}},
	}})
	expect(t, said(t, c.ofSource(t, login)), "Not known: whether workloads of CloneSet.apps.kruise.io restart")
}

func TestABlackoutOfTheClusterHolds(t *testing.T) {
	c := shop(t)
	c.objects = append(c.objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: "fairlead-calendar"},
		Data: map[string]string{"blackouts": "[{name: year-end, start: '2026-03-01T00:00:00Z', end: '2026-03-05T00:00:00Z'}]"}})
	expect(t, said(t, c.ofSource(t, login)), "It starts at 2026-03-05T00:00:00Z", "Held by Blackout: the cluster's blackout year-end ends at 2026-03-05T00:00:00Z.")
}

func TestABlackoutOfTheOperatorsConfigurationHoldsWhereItCanBeRead(t *testing.T) {
	c := shop(t)
	metadata := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "fairlead-system", Name: name, Labels: map[string]string{"app.kubernetes.io/name": "fairlead"}}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metadata("fairlead-manager"), Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "manager", Args: []string{"manager", "--config=/etc/fairlead/fairlead.yaml"},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/fairlead"}}}},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-config"}}}}},
	}}}}
	c.objects = append(c.objects, deployment, &corev1.ConfigMap{ObjectMeta: metadata("fairlead-config"), Data: map[string]string{
		"fairlead.yaml": "apiVersion: config.fairlead.dev/v1alpha1\nkind: FairleadConfiguration\ncalendar: {configMap: freezes, blackouts: [{name: audit, start: '2026-03-01T00:00:00Z', end: '2026-03-05T00:00:00Z'}]}",
	}}, &corev1.ConfigMap{ObjectMeta: metadata("freezes"), Data: map[string]string{"blackouts": "[{name: audit, start: '2026-03-05T00:00:00Z', end: '2026-03-06T00:00:00Z'}]"}})
	expect(t, said(t, c.ofSource(t, login)), "It starts at 2026-03-06T00:00:00Z", "Held by Blackout: the cluster's blackout audit", "Not considered: the limit of restarts in the configuration")
	c.refused = []string{"get configmaps"}
	expect(t, said(t, c.ofSource(t, login)), "Not known: configmaps/fairlead-calendar", "Not considered: the blackouts and the limit of restarts")
}

func TestManifestsAreComparedWithWhatIsLive(t *testing.T) {
	c := shop(t)
	for name, test := range map[string]struct {
		manifests string
		want      []string
	}{
		"the same": {"{apiVersion: v1, kind: Secret, metadata: {name: db-login}, stringData: {user: hunter1, password: hunter2}}",
			[]string{"No ConfigMap and no Secret changes.\nNo workload restarts."}},
		"in base64": {"{apiVersion: v1, kind: Secret, metadata: {name: db-login}, data: {user: aHVudGVyMQ==, password: aHVudGVyMw==}}",
			[]string{"changes in the key password. Watched", "Deployment shop/api restarts"}},
		"a key is removed": {"{apiVersion: v1, kind: Secret, metadata: {name: db-login, namespace: shop}, stringData: {user: hunter1}}",
			[]string{"changes in the key password. Watched", "Deployment shop/api restarts"}},
		"a list": {"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: db-login}, stringData: {user: hunter9}}, {apiVersion: v1, kind: Secret, metadata: {name: web-login}}]}",
			[]string{"Deployment shop/api restarts as number 1", "Deployment shop/web restarts as number 2", "2 workloads would restart."}},
		"another namespace": {"{apiVersion: v1, kind: Secret, metadata: {name: db-login, namespace: other}, stringData: {user: x}}",
			[]string{"Secret other/db-login is created, which restarts workloads only where onCreate is Restart. No RebootPolicy that could be read watches it.", "No workload restarts."}},
		"no object":   {"a: b", []string{"No ConfigMap and no Secret changes.", "Note: 1 document is no object of Kubernetes"}},
		"other kinds": {"{apiVersion: v1, kind: Service, metadata: {name: a}}", []string{"No ConfigMap and no Secret changes."}},
		"a pod template": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {template: {spec: {containers: [{name: a, image: "a:2"}]}}}}`,
			[]string{"Deployment shop/api is rolled out at once by its own controller, since its pod template changes.", "No workload restarts."}},
		"a new policy": {"{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: new}, spec: {targets: [{kind: Deployment, name: api}]}}",
			[]string{"RebootPolicy shop/new: new; a policy takes what it finds first as its baseline"}},
		"an invalid policy for the whole cluster": {"{apiVersion: autoreboot.fairlead.dev/v1, kind: ClusterRebootPolicy, metadata: {name: new}, spec: {namespaceSelector: {matchLabels: {-a: b}}, template: {spec: {targets: [{kind: Deployment, selector: {}}]}}}}",
			[]string{"Not known: ClusterRebootPolicy new could not be read: the policies that it would create are unknown: spec.namespaceSelector: Invalid value", "Whether a workload restarts is unknown."}},
		"a policy that is suspended": {"{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: payments}, spec: {suspend: true, targets: [{kind: Deployment, selector: {}}], triggers: [{name: config, type: ConfigChange}]}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: db-login}}",
			[]string{"Held by Suspended: the policy is suspended.", "It starts once nothing holds it."}},
		"a policy that watches something else": {"{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: payments}, spec: {targets: [{kind: Deployment, name: web}], triggers: [{name: config, type: ConfigChange}]}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: db-login}}",
			[]string{"No workload restarts."}},
		"twice": {"{apiVersion: v1, kind: Secret, metadata: {name: db-login}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: db-login}, stringData: {user: hunter1, password: hunter2}}",
			[]string{"No ConfigMap and no Secret changes.", "the last one counts, as with kubectl apply: Secret shop/db-login."}},
	} {
		t.Run(name, func(t *testing.T) { expect(t, said(t, c.ofManifests(t, test.manifests)), test.want...) })
	}
}

// onChange is a ClusterRebootPolicy for the workloads that ask for it, as a manifest.
func onChange(name, selector, more string) string {
	return "{apiVersion: autoreboot.fairlead.dev/v1, kind: ClusterRebootPolicy, metadata: {name: " + name + "}, spec: {namespaceSelector: " + selector +
		", template: {spec: {targets: [{selector: {}, optIn: Annotation}], triggers: [{name: config, type: ConfigChange}]" + more + "}}}}\n---\n"
}

func TestAClusterRebootPolicyIsWhatItsControllerWouldMakeOfIt(t *testing.T) {
	namespace := func(name, team string) *corev1.Namespace {
		return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	}
	cluster := func() *cluster {
		asking, other := deployment("api", "db-login"), deployment("web", "web-login")
		asking.Annotations = map[string]string{common.RestartOnChangeAnnotation: "true"}
		other.Namespace, other.Annotations = "other", asking.Annotations
		return &cluster{objects: []client.Object{
			namespace("shop", "a"), namespace("other", "b"), namespace("kube-system", "a"), asking, other,
			secret("db-login", map[string]string{"user": "hunter1"}),
		}}
	}
	login := "{apiVersion: v1, kind: Secret, metadata: {name: db-login}, stringData: {user: hunter2}}"
	text := said(t, cluster().ofManifests(t, onChange("new", "{}", "")+login))
	expect(t, text, "RebootPolicy shop/new of ClusterRebootPolicy new: what is restarted depends on the order.",
		"RebootPolicy other/new of ClusterRebootPolicy new: new; a policy takes what it finds first", "Whether a workload restarts depends on the order")
	if text := said(t, cluster().ofManifests(t, onChange("new", "{matchLabels: {team: b}}", "")+login)); strings.Contains(text, "shop/new") {
		t.Errorf("it is not selected:\n%s", text)
	}

	c, is := cluster(), &autorebootv1.ClusterRebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "uid-all"}}
	made := policy(t, "all", "{targets: [{selector: {}, optIn: Annotation}], triggers: [{name: config, type: ConfigChange}]}")
	made.Labels = map[string]string{autorebootv1.ClusterPolicyLabel: "all"}
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(is, autorebootv1.GroupVersion.WithKind(inspect.ClusterRebootPolicy))}
	is.Spec.Template.Spec = made.Spec
	c.objects = append(c.objects, is, made)
	expect(t, said(t, c.ofManifests(t, onChange("all", "{}", "")+login)), "Deployment shop/api restarts as number 1 of RebootPolicy all", "RebootPolicy other/all of ClusterRebootPolicy all: new;")
	expect(t, said(t, c.ofManifests(t, onChange("all", "{}", ", suspend: true")+login)), "Held by Suspended: the policy is suspended.")
	expect(t, said(t, c.ofManifests(t, onChange("all", "{matchLabels: {team: b}}", "")+login)),
		"ClusterRebootPolicy all would delete RebootPolicy shop/all, which then restarts nothing.", "No workload restarts.")
	c.refused = []string{"list rebootpolicys"}
	expect(t, said(t, c.ofManifests(t, onChange("all", "{}", "")+login)), "Not known: ClusterRebootPolicy all could not be read: the policies that it would create are unknown: ", "Whether a workload restarts is unknown.")
}

func TestManifestsThatCannotBeReadAreAnErrorWithTheDocument(t *testing.T) {
	for manifests, want := range map[string]string{
		"a: 1\n---\na: {{ .Values.a }}":                  "document 2 looks like a Helm template: give what `helm template` prints instead",
		"{apiVersion: v1, apiVersion: v1, kind: Secret}": `document 1, line 1: `,
		"a: [": "document 1, line 1: ",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: '*hunter2*'}}": "document 1: Secret a: illegal base64 data",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: hunter2}":          "document 1: Secret a: ",
		"{apiVersion: v1, kind: ConfigMap}":                                           "document 1: ConfigMap: metadata.name is missing; give rendered manifests",
	} {
		err := (&Manifests{}).Read("", strings.NewReader(manifests))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v, want %s", manifests, err, want)
		}
	}
}

// What others write into a cluster must stay text in the comment of a pull request.
func TestAMarkdownCommentHasNoMarkupOfOthers(t *testing.T) {
	f := &Forecast{Sources: []Source{{Key: login, Change: Changed, Keys: []string{"<img src=x>", "a|b", "[x](http://evil)", "@everyone", "`c`", "#1\n\n# Big"}}},
		Restarts: []Restart{{Key: login, Policy: "p", Causes: []Cause{{Trigger: "t", Source: "s", Keys: []string{"a|b"}}}, Holds: []Hold{{Reason: "r", Message: "x | y\n| z <script>"}}}}}
	var text strings.Builder
	if err := f.WriteMarkdown(&text, noon); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"<img", "<script", "[x](", "@everyone", " `c`", "\n# Big", "x | y", "://"} {
		if strings.Contains(text.String(), wrong) {
			t.Errorf("%q is in:\n%s", wrong, text.String())
		}
	}
}

func TestManyObjectsAreForeseen(t *testing.T) {
	var documents strings.Builder
	c := &cluster{objects: []client.Object{policy(t, "payments", byReference)}}
	big := secret("big", nil)
	c.objects = append(c.objects, big)
	documents.WriteString("{apiVersion: v1, kind: Secret, metadata: {name: big}}\n")
	for i := range 10_000 {
		big.Data[fmt.Sprintf("key-%d", i)] = []byte("hunter2")
		fmt.Fprintf(&documents, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d}, data: {a: b}}\n", i)
	}
	for i := range 150 {
		c.objects = append(c.objects, deployment(fmt.Sprintf("d-%03d", i), "big"))
	}
	f := c.ofManifests(t, documents.String())
	text := said(t, f)
	expect(t, text, "100 workloads would restart.", "changes in the keys key-0; key-1; key-10; and 9997 more")
}
