// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	metafake "k8s.io/client-go/metadata/fake"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
)

func TestALiveReadTakesAllThatASourceHolds(t *testing.T) {
	object := metav1.ObjectMeta{Namespace: shop, Name: "a", ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{owns(epoch, "k")}}
	l := &apiReader{client: kubefake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0xff}}},
		&corev1.Secret{ObjectMeta: object, Data: map[string][]byte{"k": []byte("secret")}},
	)}
	for kind, data := range map[autorebootv1.SourceKind]map[string][]byte{
		autorebootv1.SourceConfigMap: {"k": []byte("v"), "b": {0xff}},
		autorebootv1.SourceSecret:    {"k": []byte("secret")},
	} {
		got, err := l.read(t.Context(), Ref{Kind: kind, Namespace: shop, Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(data, got.data); diff != "" || got.version != "7" || len(got.fields) != 1 {
			t.Errorf("%s: version %s, %d fields, %s", kind, got.version, len(got.fields), diff)
		}
		if _, err := l.read(t.Context(), Ref{Kind: kind, Namespace: shop, Name: "gone"}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

func TestALiveListAsksForMetadataAlone(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object := func(kind autorebootv1.SourceKind, namespace, name, color string) *metav1.PartialObjectMetadata {
		made := partialObject(kind)
		made.Namespace, made.Name, made.Labels = namespace, name, map[string]string{"color": color}
		return made
	}
	client := metafake.NewSimpleMetadataClient(scheme,
		object(autorebootv1.SourceSecret, shop, "a", "red"), object(autorebootv1.SourceSecret, shop, "b", "blue"),
		object(autorebootv1.SourceSecret, "elsewhere", "c", "red"), object(autorebootv1.SourceConfigMap, shop, "d", "red"))
	l := &apiReader{metadata: client}
	red, _ := labels.Parse("color=red")
	for kind, wanted := range map[autorebootv1.SourceKind]string{autorebootv1.SourceSecret: "a", autorebootv1.SourceConfigMap: "d"} {
		if got, err := l.list(t.Context(), scope{kind, shop}, red, 10); err != nil || !slices.Equal(got, []string{wanted}) {
			t.Errorf("%s: got %v, %v", kind, got, err)
		}
	}
}

func TestNewWantsWhatItNeeds(t *testing.T) {
	key, err := fingerprint.NewKey(bytes.Repeat([]byte{1}, fingerprint.Size))
	if err != nil {
		t.Fatal(err)
	}
	whole := Options{
		Client: kubefake.NewClientset(), Metadata: metafake.NewSimpleMetadataClient(metafake.NewTestScheme()),
		Key: key, Cache: &fakeCache{}, Notify: func(types.NamespacedName) {},
	}
	for name, c := range map[string]struct {
		spoil func(*Options)
		fine  bool
	}{
		"all":             {func(*Options) {}, true},
		"no cache":        {func(o *Options) { o.Cache = nil }, false},
		"no cache, polls": {func(o *Options) { o.Cache, o.Mode = nil, Poll }, true},
		"no client":       {func(o *Options) { o.Client = nil }, false},
		"no metadata":     {func(o *Options) { o.Metadata = nil }, false},
		"no key":          {func(o *Options) { o.Key = nil }, false},
		"none to notify":  {func(o *Options) { o.Notify = nil }, false},
	} {
		o := whole
		c.spoil(&o)
		s, err := New(o)
		if (err == nil) != c.fine {
			t.Errorf("%s: got %v", name, err)
		}
		if err == nil && (s.options.Interval != defaultInterval || s.options.MaxSources != defaultMaxSources || s.options.Now == nil) {
			t.Errorf("%s: got %+v", name, s.options)
		}
	}
	whole.Registerer = prometheus.NewRegistry()
	if _, err := New(whole); err != nil {
		t.Error(err)
	}
	if _, err := New(whole); err == nil {
		t.Error("the same metrics were registered twice")
	}
}

func TestMetricsCountAndNameNoObject(t *testing.T) {
	s := newSuite(t, Watch)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.metrics)
	s.write(secret("a"), "k", "1", epoch)
	s.observe(alice, want("a"), want("gone"))
	s.observe(bob, want("a"))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			id := family.GetName()
			for _, label := range metric.GetLabel() {
				id += " " + label.GetName() + "=" + label.GetValue()
			}
			got[id] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	if diff := cmp.Diff(map[string]float64{
		"fairlead_rebootpolicy_sources kind=ConfigMap":                         0,
		"fairlead_rebootpolicy_sources kind=Secret":                            2,
		"fairlead_rebootpolicy_sources kind=SecretProviderClass":               0,
		"fairlead_rebootpolicy_source_reads_total kind=Secret result=Found":    1,
		"fairlead_rebootpolicy_source_reads_total kind=Secret result=NotFound": 1,
	}, got); diff != "" {
		t.Error(diff)
	}
}
