// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"net"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// group is the API group of cert-manager.
const group = "cert-manager.io"

// kind is a kind of cert-manager, with the field that errors call it by.
type kind struct {
	name     string
	resource schema.GroupVersionResource
}

var (
	certificates = kind{certmanagerv1.CertificateKind, certmanagerv1.SchemeGroupVersion.WithResource("certificates")}
	issuers      = kind{certmanagerv1.IssuerKind, certmanagerv1.SchemeGroupVersion.WithResource("issuers")}
)

// desired is an object that must be there.
type desired struct {
	kind kind
	name string
	spec any
}

// The authority that is made where no issuer is named: an Issuer that lets certificates sign
// themselves, the root, and the Issuer that signs with it.
func (o Options) bootstrapName() string { return o.Certificate + "-bootstrap" }
func (o Options) rootName() string      { return o.Certificate + "-root" }

// desiredObjects are the objects in the order in which cert-manager needs them. The Certificate is last.
func (o Options) desiredObjects() []desired {
	issuer := cmmeta.IssuerReference{Name: o.IssuerName, Kind: o.IssuerKind, Group: o.IssuerGroup}
	var all []desired
	if o.IssuerName == "" {
		issuer = cmmeta.IssuerReference{Name: o.Certificate, Kind: certmanagerv1.IssuerKind, Group: group}
		all = append(all,
			desired{issuers, o.bootstrapName(), certmanagerv1.IssuerSpec{
				IssuerConfig: certmanagerv1.IssuerConfig{SelfSigned: &certmanagerv1.SelfSignedIssuer{}},
			}},
			desired{certificates, o.rootName(), certmanagerv1.CertificateSpec{
				IsCA:       true,
				CommonName: o.rootName(),
				Subject:    &certmanagerv1.X509Subject{Organizations: []string{"fairlead.dev"}},
				Duration:   &metav1.Duration{Duration: o.RootValidity},
				SecretName: o.rootName(),
				IssuerRef:  cmmeta.IssuerReference{Name: o.bootstrapName(), Kind: certmanagerv1.IssuerKind, Group: group},
				PrivateKey: &certmanagerv1.CertificatePrivateKey{
					Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 384, RotationPolicy: certmanagerv1.RotationPolicyAlways,
				},
				RevisionHistoryLimit: ptr.To[int32](2),
			}},
			desired{issuers, o.Certificate, certmanagerv1.IssuerSpec{
				IssuerConfig: certmanagerv1.IssuerConfig{CA: &certmanagerv1.CAIssuer{SecretName: o.rootName()}},
			}},
		)
	}
	spec := certmanagerv1.CertificateSpec{
		Subject:     &certmanagerv1.X509Subject{Organizations: []string{"fairlead.dev"}},
		Duration:    &metav1.Duration{Duration: o.Validity},
		RenewBefore: &metav1.Duration{Duration: o.Validity / 3},
		SecretName:  o.SecretName,
		IssuerRef:   issuer,
		Usages:      []certmanagerv1.KeyUsage{certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageServerAuth},
		PrivateKey: &certmanagerv1.CertificatePrivateKey{
			Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 256, RotationPolicy: certmanagerv1.RotationPolicyAlways,
		},
		RevisionHistoryLimit: ptr.To[int32](2),
	}
	for _, name := range o.names() {
		if net.ParseIP(name) != nil {
			spec.IPAddresses = append(spec.IPAddresses, name)
		} else {
			spec.DNSNames = append(spec.DNSNames, name)
		}
	}
	return append(all, desired{certificates, o.Certificate, spec})
}

// object is what is applied. It has no status, which is cert-manager's.
func (w desired) object(namespace string) (*unstructured.Unstructured, error) {
	var spec map[string]any
	var err error
	switch typed := w.spec.(type) {
	case certmanagerv1.CertificateSpec:
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	case certmanagerv1.IssuerSpec:
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	}
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(w.kind.resource.GroupVersion().String())
	object.SetKind(w.kind.name)
	object.SetNamespace(namespace)
	object.SetName(w.name)
	object.SetLabels(map[string]string{common.ManagedByLabel: common.ManagedBy})
	return object, nil
}
