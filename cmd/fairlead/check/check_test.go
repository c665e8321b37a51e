// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

const (
	namespace = "team-system"
	prefix    = "team-"
)

// world is an installation of another namespace and name prefix, as an API server shows it.
type world struct {
	now        time.Time
	crds       []*apiextensionsv1.CustomResourceDefinition
	stored     []*unstructured.Unstructured // objects of Fairlead's kinds
	deployment *appsv1.Deployment
	parts      []*appsv1.Deployment // beside it
	more       bool                 // the list of Deployments goes on
	config     *corev1.ConfigMap
	mutating   []*admissionregistrationv1.MutatingWebhookConfiguration
	validating []*admissionregistrationv1.ValidatingWebhookConfiguration
	secret     *corev1.Secret
	lease      *coordinationv1.Lease
	forbidden  []string                                 // resources that the user may not read
	created    func(o *unstructured.Unstructured) error // what a dry run does
	allowed    func(authorizationv1.SubjectAccessReviewSpec) bool
	dial       func(context.Context, string, string) (net.Conn, error)
	root, leaf tls.Certificate
}

func certificate(t *testing.T, now time.Time, signer *tls.Certificate, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "test"}, DNSNames: names,
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(6 * 24 * time.Hour), BasicConstraintsValid: true, IsCA: signer == nil,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	parent, by := template, any(key)
	if signer != nil {
		parent, by = signer.Leaf, signer.PrivateKey
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

func asPEM(c tls.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
}

// sound is an installation in which everything works.
func sound(t *testing.T) *world {
	t.Helper()
	w := &world{now: time.Now().Truncate(time.Second)}
	w.root = certificate(t, w.now, nil)
	w.leaf = certificate(t, w.now, &w.root, prefix+"fairlead-webhook."+namespace+".svc")
	w.created = func(o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, "set", "spec", "default")
	}
	w.allowed = func(authorizationv1.SubjectAccessReviewSpec) bool { return true }
	service := admissionregistrationv1.ServiceReference{Namespace: namespace, Name: prefix + "fairlead-webhook", Path: ptr.To("/"), Port: ptr.To[int32](443)}
	for _, kind := range vet.New(vet.Options{}).Kinds() {
		shared, err := definitionOf(kind.Group, kind.Plural)
		if err != nil {
			t.Fatal(err)
		}
		d := shared.DeepCopy()
		d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: asPEM(w.root), Service: &apiextensionsv1.ServiceReference{
				Namespace: service.Namespace, Name: service.Name, Port: service.Port,
			}},
		}}
		d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
		w.crds = append(w.crds, d)
		rules := []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{"v1"}, Resources: []string{kind.Plural}}}}
		away := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kube-system", namespace},
		}}}
		client := admissionregistrationv1.WebhookClientConfig{Service: &service, CABundle: asPEM(w.root)}
		name := strings.ToLower(kind.Kind)
		named := metav1.ObjectMeta{Name: prefix + "fairlead-" + name}
		w.mutating = append(w.mutating, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: name + ".mutate.fairlead.dev", Rules: rules, ClientConfig: client, NamespaceSelector: away,
		}}})
		w.validating = append(w.validating, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name + ".validate.fairlead.dev", Rules: rules, ClientConfig: client, NamespaceSelector: away,
		}}})
	}
	content, err := os.ReadFile("../../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.deployment = &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(content, w.deployment); err != nil {
		t.Fatal(err)
	}
	d := w.deployment
	d.Namespace, d.Name = namespace, prefix+d.Name
	d.Labels["app.kubernetes.io/name"] = "fairlead"
	template := &d.Spec.Template.Spec
	template.ServiceAccountName = prefix + template.ServiceAccountName
	template.Containers[0].Image = "registry.example.com:5000/fairlead:v1.2.3"
	for i, argument := range template.Containers[0].Args {
		if strings.HasPrefix(argument, "fairlead-") {
			template.Containers[0].Args[i] = prefix + argument
		}
	}
	template.Containers[0].Args = append(template.Containers[0].Args, "--flag-of-another-version=1")
	d.Status = appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	if content, err = os.ReadFile("../../../config/manager/config.yaml"); err != nil {
		t.Fatal(err)
	}
	w.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: template.Volumes[0].ConfigMap.Name},
		Data: map[string]string{"config.yaml": string(content)}}
	w.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fairlead-webhook-ca"}, Data: map[string][]byte{"tls.crt": asPEM(w.root)}}
	w.lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fairlead-manager"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod-1"), RenewTime: ptr.To(metav1.NewMicroTime(w.now.Add(-time.Second)))}}
	return w
}

// configure changes a line of the configuration file.
func (w *world) configure(t *testing.T, before, after string) {
	t.Helper()
	if !strings.Contains(w.config.Data["config.yaml"], before) {
		t.Fatalf("no %q in the configuration", before)
	}
	w.config.Data["config.yaml"] = strings.Replace(w.config.Data["config.yaml"], before, after, 1)
}

func (w *world) options(t *testing.T) Options {
	t.Helper()
	objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"kubernetes.io/metadata.name": "shop"}}}}
	if w.deployment != nil {
		objects = append(objects, w.deployment)
	}
	for _, part := range w.parts {
		objects = append(objects, part)
	}
	objects = append(objects, w.config, w.lease)
	for _, c := range w.mutating {
		objects = append(objects, c)
	}
	for _, c := range w.validating {
		objects = append(objects, c)
	}
	if w.secret != nil {
		objects = append(objects, w.secret)
	}
	typed := fake.NewSimpleClientset(objects...)
	forbid := func(action clienttesting.Action) (bool, runtime.Object, error) {
		resource := action.GetResource()
		if slices.Contains(w.forbidden, resource.Resource) {
			return true, nil, apierrors.NewForbidden(resource.GroupResource(), "", errors.New(`User "u" cannot create resource`))
		}
		return false, nil, nil
	}
	typed.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		review.Status.Allowed = w.allowed(review.Spec)
		return true, review, nil
	})
	typed.PrependReactor("list", "deployments", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object, err := typed.Tracker().List(action.GetResource(), appsv1.SchemeGroupVersion.WithKind("Deployment"), action.GetNamespace())
		if list, ok := object.(*appsv1.DeploymentList); ok {
			if limit := action.(clienttesting.ListActionImpl).ListOptions.Limit; w.more || int64(len(list.Items)) > limit {
				list.Items, list.Continue = list.Items[:min(len(list.Items), int(limit))], "more"
			}
		}
		return true, object, err
	})
	typed.PrependReactor("*", "*", forbid)
	var definitions []runtime.Object
	for _, d := range w.crds {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: object}
		u.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		definitions = append(definitions, u)
	}
	lists := map[schema.GroupVersionResource]string{apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"): "CustomResourceDefinitionList"}
	for _, kind := range vet.New(vet.Options{}).Kinds() {
		lists[schema.GroupVersionResource{Group: kind.Group, Version: "v1", Resource: kind.Plural}] = kind.Kind + "List"
	}
	for _, o := range w.stored {
		definitions = append(definitions, o)
	}
	untyped := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, definitions...)
	untyped.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create := action.(clienttesting.CreateActionImpl)
		if !slices.Equal(create.CreateOptions.DryRun, []string{metav1.DryRunAll}) {
			t.Errorf("%s is created for good", action.GetResource())
		}
		object := create.GetObject().(*unstructured.Unstructured).DeepCopy()
		if err := w.created(object); err != nil {
			return true, nil, err
		}
		return true, object, nil
	})
	untyped.PrependReactor("*", "*", forbid)
	clock := clocktesting.NewFakeClock(w.now)
	return Options{Kubernetes: typed, Dynamic: untyped, Namespace: "shop", Version: "v1.2.3", Clock: clock, Dial: w.dial}
}

func (w *world) run(t *testing.T) Report {
	t.Helper()
	report, err := New(w.options(t)).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func text(t *testing.T, r Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// served accepts handshakes with a certificate.
func served(c tls.Certificate) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		if address != prefix+"fairlead-webhook."+namespace+".svc:443" {
			return nil, fmt.Errorf("dials %s", address)
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		go func() {
			server, err := listener.Accept()
			if err == nil {
				_ = tls.Server(server, &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS13}).HandshakeContext(ctx)
				_ = server.Close()
			}
			_ = listener.Close()
		}()
		return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	}
}

func TestASoundInstallationOfOtherNamesPasses(t *testing.T) {
	w := sound(t)
	w.dial = served(w.leaf)
	report := w.run(t)
	if n := report.Count(OK); n != len(report.Results) || n != 38 || report.Namespace != namespace {
		t.Errorf("%d of %d are ok:\n%s", n, len(report.Results), text(t, report))
	}
	for _, want := range []string{
		"ok: Deployment team-system/team-fairlead-manager: 2 of 2 replicas are available\n",
		"ok: Secret team-system/fairlead-webhook-ca: the authority is valid for 6 days\n",
		"ok: Service team-system/team-fairlead-webhook: the serving certificate is valid for 6 days\n",
		"ok: ChaosPod at v1alpha1: created by a dry run in namespace shop\n",
		"38 checks: 38 ok, 0 warnings, 0 failed, 0 unchecked, 0 skipped; the operator is in namespace team-system, for ExternalService, RebootPolicy, ChaosPod\n",
	} {
		if got := text(t, report); !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(report.Document()); err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Version   int
		Namespace string
		Summary   map[string]int
		Results   []Result
	}
	if err := json.Unmarshal(out.Bytes(), &decoded); err != nil || decoded.Version != 1 || decoded.Summary["ok"] != 38 || !slices.Equal(decoded.Results, report.Results) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// counted counts warnings that client-go would write to the standard error.
type counted struct{ atomic.Int32 }

func (c *counted) HandleWarningHeader(int, string, string) { c.Add(1) }

func TestWarningsAboutTheSamplesAreNotPrinted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Warning", `299 - "about the sample"`)
		http.NotFound(w, nil)
	}))
	defer server.Close()
	printed := &counted{}
	rest.SetDefaultWarningHandler(printed)
	defer rest.SetDefaultWarningHandler(rest.WarningLogger{})
	config := &rest.Config{Host: server.URL}
	c, err := NewForConfig(config, Options{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); err == nil || printed.Load() > 0 || config.WarningHandler != nil {
		t.Errorf("%d warnings, %v", printed.Load(), err)
	}
}

func TestEachOfManyDeploymentsIsCheckedAndTheirRightsOnce(t *testing.T) {
	w := sound(t)
	for i := range 20 {
		part := w.deployment.DeepCopy()
		name := fmt.Sprintf("part-%d", i)
		part.Name = prefix + "fairlead-" + name
		c := &part.Spec.Template.Spec.Containers[0]
		c.Args = append(c.Args, "--set=webhook.enabled=false", "--set=namespaces="+name, "--set=leaderElection.resourceName=fairlead-"+name)
		w.parts = append(w.parts, part)
	}
	report := w.run(t)
	got := text(t, report)
	for i := range w.parts {
		if want := fmt.Sprintf("failed: Lease team-system/fairlead-part-%d: it does not exist", i); !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "ok: ServiceAccount team-system/team-fairlead-manager: it has all "); n != 2 {
		t.Errorf("the rights of the manager and of the others are told %d times:\n%s", n, got)
	}
	w.more = true
	if got := text(t, w.run(t)); !strings.Contains(got, "unchecked: Deployments labeled app.kubernetes.io/name=fairlead: there are more than the 100 that are checked") {
		t.Errorf("of more Deployments nothing is told:\n%s", got)
	}
}

// Each defect is seen by one line that names the object and what to do.
func TestEachDefectIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(t *testing.T, w *world)
		want   string
	}{
		"no CRD":               {func(_ *testing.T, w *world) { w.crds = w.crds[1:] }, "failed: CustomResourceDefinition externalservices.networking.fairlead.dev: it does not exist; install"},
		"CRD not established":  {func(_ *testing.T, w *world) { w.crds[0].Status.Conditions = nil }, "failed: CustomResourceDefinition externalservices.networking.fairlead.dev: the API server does not serve it"},
		"no conversion":        {func(_ *testing.T, w *world) { w.crds[1].Spec.Conversion = nil }, "failed: CustomResourceDefinition rebootpolicies.autoreboot.fairlead.dev: it serves several versions without the conversion webhook"},
		"an older schema":      {func(_ *testing.T, w *world) { spec(w, 0, "v1").Properties["spec"] = apiextensionsv1.JSONSchemaProps{} }, "warning: CustomResourceDefinition externalservices.networking.fairlead.dev: it is of another version than this binary: v1.spec"},
		"another installation": {func(_ *testing.T, w *world) { w.crds[3].Spec.Conversion.Webhook.ClientConfig.Service.Namespace = "old" }, "failed: CustomResourceDefinition chaospods.chaos.fairlead.dev: its conversion webhook is in namespace old"},
		"no Deployment":        {func(_ *testing.T, w *world) { w.deployment = nil }, "failed: Deployments labeled app.kubernetes.io/name=fairlead: there are none"},
		"no replica":           {func(_ *testing.T, w *world) { w.deployment.Status.AvailableReplicas = 0 }, "failed: Deployment team-system/team-fairlead-manager: 0 of 2 replicas are available; look at `kubectl"},
		"scaled to 0":          {func(_ *testing.T, w *world) { w.deployment.Spec.Replicas = ptr.To[int32](0) }, "failed: Deployment team-system/team-fairlead-manager: it has no replicas"},
		"one replica":          {func(_ *testing.T, w *world) { w.deployment.Status.AvailableReplicas = 1 }, "warning: Deployment team-system/team-fairlead-manager: 1 of 2 replicas are available"},
		"no reconciler": {func(_ *testing.T, w *world) {
			c := &w.deployment.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "--set=controllers.enabled=false")
		}, "failed: namespace team-system: no Deployment reconciles"},
		"no ConfigMap":   {func(_ *testing.T, w *world) { w.config.Name = "other" }, "unchecked: Deployment team-system/team-fairlead-manager: its configuration could not be read"},
		"no webhooks":    {func(_ *testing.T, w *world) { w.mutating[0].Name = "other" }, "failed: MutatingWebhookConfiguration team-fairlead-externalservice: it does not exist"},
		"another kind's": {func(_ *testing.T, w *world) { w.validating[3].Webhooks = w.validating[2].Webhooks }, "failed: ValidatingWebhookConfiguration team-fairlead-chaospod: it has no webhook for chaospods"},
		"another Service": {func(_ *testing.T, w *world) {
			w.validating[1].Webhooks[0].ClientConfig.Service = &admissionregistrationv1.ServiceReference{Name: "other"}
		},
			"failed: ValidatingWebhookConfiguration team-fairlead-rebootpolicy: webhook"},
		"no bundle":         {func(_ *testing.T, w *world) { w.validating[1].Webhooks[0].ClientConfig.CABundle = nil }, "failed: ValidatingWebhookConfiguration team-fairlead-rebootpolicy: the CA bundle of webhook rebootpolicy.validate.fairlead.dev is empty"},
		"an unreadable one": {func(_ *testing.T, w *world) { w.mutating[0].Webhooks[0].ClientConfig.CABundle = []byte("\n") }, "failed: MutatingWebhookConfiguration team-fairlead-externalservice: the CA bundle of webhook externalservice.mutate"},
		"another authority": {func(t *testing.T, w *world) {
			w.crds[0].Spec.Conversion.Webhook.ClientConfig.CABundle = asPEM(certificate(t, w.now, nil))
		}, "failed: CustomResourceDefinition externalservices.networking.fairlead.dev: its CA bundle lacks the authority"},
		"a bundle that differs": {func(t *testing.T, w *world) {
			w.crds[1].Spec.Conversion.Webhook.ClientConfig.CABundle = append(asPEM(w.root), asPEM(certificate(t, w.now, nil))...)
		}, "warning: CustomResourceDefinition rebootpolicies.autoreboot.fairlead.dev: its CA bundle differs"},
		"expired":            {func(_ *testing.T, w *world) { w.now = w.now.Add(7 * 24 * time.Hour) }, "failed: Secret team-system/fairlead-webhook-ca: the authority has expired"},
		"nearly expired":     {func(_ *testing.T, w *world) { w.now = w.now.Add(6*24*time.Hour - time.Hour) }, "warning: Secret team-system/fairlead-webhook-ca: the authority was not renewed in time"},
		"not valid yet":      {func(_ *testing.T, w *world) { w.now = w.now.Add(-25 * time.Hour) }, "failed: Secret team-system/fairlead-webhook-ca: the authority is valid from"},
		"no Secret":          {func(_ *testing.T, w *world) { w.secret = nil }, "failed: Secret team-system/fairlead-webhook-ca: it does not exist"},
		"an unreadable root": {func(_ *testing.T, w *world) { w.secret.Data["tls.crt"] = []byte("x") }, "failed: Secret team-system/fairlead-webhook-ca: tls.crt"},
		"an unreadable root of cert-manager": {func(t *testing.T, w *world) {
			w.configure(t, "source: selfSigned", "source: certManager")
			w.secret.Name = "fairlead-webhook-tls"
			w.secret.Data = map[string][]byte{"tls.crt": asPEM(w.leaf), "ca.crt": []byte("x")}
		}, "failed: Secret team-system/fairlead-webhook-tls: ca.crt"},
		"no connection": {func(_ *testing.T, w *world) {
			w.dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		}, "failed: Service team-system/team-fairlead-webhook: it cannot be reached over TLS: refused"},
		"another server": {func(t *testing.T, w *world) {
			w.dial = served(certificate(t, w.now, nil, prefix+"fairlead-webhook."+namespace+".svc"))
		}, "failed: Service team-system/team-fairlead-webhook: it cannot be reached over TLS"},
		"a served certificate of another name": {func(t *testing.T, w *world) { w.dial = served(certificate(t, w.now, &w.root, "other")) },
			"failed: Service team-system/team-fairlead-webhook: it cannot be reached over TLS"},
		"a webhook that does not answer": {func(_ *testing.T, w *world) {
			w.created = func(*unstructured.Unstructured) error {
				return apierrors.NewInternalError(errors.New(`failed calling webhook "x.mutate.fairlead.dev": no endpoints available for service`))
			}
		}, "failed: RebootPolicy at v1: Internal error occurred: failed calling webhook"},
		"a conversion that fails": {func(_ *testing.T, w *world) {
			set := w.created
			w.created = func(o *unstructured.Unstructured) error {
				if o.GroupVersionKind().Version == "v1alpha1" {
					return apierrors.NewInternalError(errors.New("conversion webhook for x failed: Post"))
				}
				return set(o)
			}
		}, "failed: ExternalService at v1alpha1: Internal error occurred: conversion webhook"},
		"webhooks that are not called": {func(_ *testing.T, w *world) { w.created = func(*unstructured.Unstructured) error { return nil } },
			"failed: ChaosPod at v1: it was created without the defaults"},
		"another policy": {func(_ *testing.T, w *world) {
			w.created = func(*unstructured.Unstructured) error {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`admission webhook "policies.example.com" denied the request: no`))
			}
		}, "warning: ChaosPod at v1: something else than Fairlead's webhooks refuses it"},
		"an admission policy": {func(_ *testing.T, w *world) { w.created = policyRefuses },
			"ok: ChaosPod at v1: the mutating webhook responds; Fairlead's admission policies refuse"},
		"an admission policy in the place of webhooks": {func(_ *testing.T, w *world) {
			w.mutating[3].Webhooks[0].FailurePolicy = ptr.To(admissionregistrationv1.Ignore)
			w.created = policyRefuses
		}, "warning: ChaosPod at v1: Fairlead's admission policies refuse the sample for this user, so that it is not seen"},
		"a user of few rights": {func(_ *testing.T, w *world) {
			w.created = func(*unstructured.Unstructured) error {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`admission webhook "chaospod.validate.fairlead.dev" denied the request: no`))
			}
		}, "ok: ChaosPod at v1: the webhooks answer; they refuse the sample for this user"},
		"no leader":   {func(_ *testing.T, w *world) { w.lease.Spec.HolderIdentity = ptr.To("") }, "failed: Lease team-system/fairlead-manager: no replica leads"},
		"no Lease":    {func(_ *testing.T, w *world) { w.lease.Name = "other" }, "failed: Lease team-system/fairlead-manager: it does not exist; no replica has led yet"},
		"no election": {func(t *testing.T, w *world) { w.configure(t, "leaderElect: true", "leaderElect: false") }, "failed: Deployment team-system/team-fairlead-manager: its replicas elect no leader"},
		"a missing right": {func(_ *testing.T, w *world) {
			w.allowed = func(s authorizationv1.SubjectAccessReviewSpec) bool {
				return s.ResourceAttributes.Resource != "pods" || s.ResourceAttributes.Subresource != "eviction"
			}
		}, "failed: ServiceAccount team-system/team-fairlead-manager: it lacks 1 of"},
		"another version": {func(_ *testing.T, w *world) { w.deployment.Spec.Template.Spec.Containers[0].Image = "fairlead:v1.3.0" }, "warning: Deployment team-system/team-fairlead-manager: its image is of v1.3.0, and this binary of v1.2.3"},
		"a digest": {func(_ *testing.T, w *world) {
			w.deployment.Spec.Template.Spec.Containers[0].Image = "localhost:5000/fairlead@sha256:00"
		}, "skipped: Deployment team-system/team-fairlead-manager: its image localhost:5000/fairlead@sha256:00 has no tag"},
		"Secrets that may not be read":    {func(_ *testing.T, w *world) { w.forbidden = []string{"secrets"} }, "skipped: Secret team-system/fairlead-webhook-ca"},
		"reviews that may not be made":    {func(_ *testing.T, w *world) { w.forbidden = []string{"subjectaccessreviews"} }, "skipped: ServiceAccount team-system/team-fairlead-manager: you have no permission to check its rights"},
		"CRDs that may not be read":       {func(_ *testing.T, w *world) { w.forbidden = []string{"customresourcedefinitions"} }, "unchecked: CustomResourceDefinition externalservices.networking.fairlead.dev: you have no permission to read it; grant get on"},
		"Deployments of the same kind":    {func(_ *testing.T, w *world) { w.forbidden = []string{"deployments"} }, "unchecked: Deployments labeled app.kubernetes.io/name=fairlead: you have no permission to read it; grant list on deployments.apps in namespace team-system"},
		"objects that may not be created": {func(_ *testing.T, w *world) { w.forbidden = []string{"chaospods"} }, "unchecked: ChaosPod at v1: you have no permission to create it; grant create on chaospods.chaos.fairlead.dev in namespace shop"},
		"Leases that may not be read":     {func(_ *testing.T, w *world) { w.forbidden = []string{"leases"} }, "unchecked: Lease team-system/fairlead-manager: you have no permission to read it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := sound(t)
			c.breaks(t, w)
			if name == "no leader" || name == "expired" || name == "nearly expired" { // the Lease is as fresh as it was
				w.lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(w.now))
			}
			if got := text(t, w.run(t)); !strings.Contains(got, "\n"+c.want) && !strings.HasPrefix(got, c.want) {
				t.Errorf("lacks %q:\n%s", c.want, got)
			}
		})
	}
}

func policyRefuses(*unstructured.Unstructured) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("ValidatingAdmissionPolicy 'team-fairlead-chaospod-rights' with binding 'b' denied request: no"))
}

// spec is the schema of a version, which is shared with the CRD.
func spec(w *world, i int, version string) *apiextensionsv1.JSONSchemaProps {
	versions := w.crds[i].Spec.Versions
	at := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	return versions[at].Schema.OpenAPIV3Schema
}

func TestTheNamespaceOfTheDryRunsIsOneThatTheWebhooksLookAt(t *testing.T) {
	w := sound(t)
	o := w.options(t)
	o.Namespace = namespace
	if _, err := o.Kubernetes.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"kubernetes.io/metadata.name": namespace}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{namespace, "absent"} {
		o.Namespace = namespace
		report, err := New(o).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, report)
		if !strings.Contains(got, "does not look at namespace team-system; give a namespace with --namespace") &&
			!strings.Contains(got, "failed: Namespace absent: it does not exist") {
			t.Errorf("%s:\n%s", namespace, got)
		}
		if strings.Contains(got, "created by a dry run") {
			t.Errorf("%s: it was created:\n%s", namespace, got)
		}
	}
}

// The clock of the machine that checks may be ahead: a Lease that changes is renewed.
func TestALeaseThatLooksStaleIsReadAgain(t *testing.T) {
	for renews, want := range map[bool]string{true: "ok: Lease team-system/fairlead-manager: pod-1 leads", false: "has not renewed it for"} {
		w := sound(t)
		w.lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(w.now.Add(-time.Hour)))
		o := w.options(t)
		clock := o.Clock.(*clocktesting.FakeClock)
		done := make(chan Report, 1)
		go func() {
			report, _ := New(o).Run(t.Context())
			done <- report
		}()
		for !clock.HasWaiters() {
			select {
			case report := <-done:
				t.Fatalf("it looks once:\n%s", text(t, report))
			case <-time.After(time.Millisecond):
			}
		}
		if renews {
			w.lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(w.now.Add(-time.Hour + 2*time.Second)))
			if _, err := o.Kubernetes.CoordinationV1().Leases(namespace).Update(t.Context(), w.lease, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		clock.Step(time.Minute)
		if got := text(t, <-done); !strings.Contains(got, want) {
			t.Errorf("renews %t:\n%s", renews, got)
		}
	}
}

func TestWaitEndsWhenAllPassOrTheContextEnds(t *testing.T) {
	w := sound(t)
	available := w.deployment.Status
	w.deployment.Status.AvailableReplicas = 0
	w.lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(w.now.Add(time.Hour))) // never stale, whatever the clock does
	o := w.options(t)
	clock := o.Clock.(*clocktesting.FakeClock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan Report, 1)
	wait := func() {
		report, err := New(o).Wait(ctx)
		if err != nil {
			t.Error(err)
		}
		done <- report
	}
	go wait()
	for range 3 { // rounds that fail
		for !clock.HasWaiters() {
			<-time.After(time.Millisecond)
		}
		clock.Step(waitInterval)
	}
	w.deployment.Status = available
	if _, err := o.Kubernetes.AppsV1().Deployments(namespace).UpdateStatus(ctx, w.deployment, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for len(done) == 0 {
		clock.Step(waitInterval)
		<-time.After(time.Millisecond)
	}
	if report := <-done; report.Count(Failed)+report.Count(Unchecked) != 0 {
		t.Errorf("it ended too early:\n%s", text(t, report))
	}
}

// The samples are what the webhooks and the schemas of every served version take.
func TestTheSamplesAreValidAndCompleteForEachServedVersion(t *testing.T) {
	v := vet.New(vet.Options{})
	seen := 0
	for i, d := range sound(t).crds {
		for _, version := range d.Spec.Versions {
			if !version.Served {
				continue
			}
			kind := v.Kinds()[i]
			object, known, err := sample(kind.Kind, kind.Group+"/"+version.Name, version.Name, "shop")
			if err != nil || !known {
				t.Fatalf("%s at %s: %v", kind.Kind, version.Name, err)
			}
			seen++
			object.SetName("check") // in the place of a generated one
			object.SetGenerateName("")
			raw, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			summary, err := v.Run(t.Context(), func(visit files.Visit) error { return visit("sample", bytes.NewReader(raw)) }, func(o vet.Object) error {
				for _, f := range o.Findings {
					if f.Severity == vet.Error {
						t.Errorf("%s at %s: %s: %s", kind.Kind, version.Name, f.Field, f.Message)
					}
				}
				return nil
			})
			if err != nil || summary.Objects != 1 {
				t.Errorf("%v, %d objects", err, summary.Objects)
			}
		}
	}
	if seen != len(samples) {
		t.Errorf("%d samples, of which %d are of a served version", len(samples), seen)
	}
}

// Only what the configuration needs is asked for.
func TestRightsFollowTheConfiguration(t *testing.T) {
	ask := func(configure func(w *world)) (all []string) {
		w := sound(t)
		configure(w)
		collected := make(chan string, 1000)
		w.allowed = func(s authorizationv1.SubjectAccessReviewSpec) bool {
			if s.User != "system:serviceaccount:team-system:team-fairlead-manager" {
				t.Errorf("asks for %s", s.User)
			}
			collected <- describe(*s.ResourceAttributes)
			return true
		}
		w.run(t)
		close(collected)
		for one := range collected {
			all = append(all, one)
		}
		return all
	}
	for name, c := range map[string]struct {
		configure   func(w *world)
		has, hasNot string
	}{
		"as shipped":   {func(*world) {}, "patch on deployments.apps in all namespaces", "create on certificates.cert-manager.io in namespace team-system"},
		"names":        {func(*world) {}, "patch on mutatingwebhookconfigurations.admissionregistration.k8s.io team-fairlead-chaospod in all namespaces", "patch on mutatingwebhookconfigurations.admissionregistration.k8s.io fairlead-chaospod in all namespaces"},
		"cert-manager": {func(w *world) { w.configure(t, "source: selfSigned", "source: certManager") }, "create on certificates.cert-manager.io in namespace team-system", ""},
		"namespaces": {func(w *world) {
			w.configure(t, "metrics:", "namespaces: [shop]\nclusterAccess: false\negress: {clusterCIDRs: [10.0.0.0/8]}\nmetrics:")
		}, "patch on deployments.apps in namespace shop", "get on nodes in all namespaces"},
		"webhooks alone": {func(w *world) {
			c := &w.deployment.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "--set=controllers.enabled=false")
		}, "patch on customresourcedefinitions.apiextensions.k8s.io chaospods.chaos.fairlead.dev in all namespaces", "patch on deployments.apps in all namespaces"},
	} {
		all := ask(c.configure)
		if !slices.Contains(all, c.has) || slices.Contains(all, c.hasNot) {
			t.Errorf("%s: has not %q, or has %q: %q", name, c.has, c.hasNot, all)
		}
	}
}
