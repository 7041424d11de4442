package kubedump

// This file is claims with the volumes and classes behind them.

const driver = "disk.csi.example.com"

// makeClasses makes the class of volumes, and what each node can attach.
func (m *maker) makeClasses() {
	m.items = append(m.items,
		object("storage.k8s.io/v1", "StorageClass", "", "zonal", fields{"provisioner": driver, "volumeBindingMode": "WaitForFirstConsumer"}),
		object("storage.k8s.io/v1", "StorageClass", "", "at-once", fields{"provisioner": driver, "volumeBindingMode": "Immediate"}),
		object("storage.k8s.io/v1", "CSIDriver", "", driver, fields{"spec": fields{"attachRequired": true}}),
	)
	for _, n := range m.nodes {
		m.items = append(m.items, object("storage.k8s.io/v1", "CSINode", "", n.name, fields{"spec": fields{"drivers": []fields{
			{"name": driver, "nodeID": n.name, "topologyKeys": []string{zoneKey}, "allocatable": fields{"count": 25}},
		}}}))
	}
}

// claim makes a claim bound to a volume in a zone.
func (m *maker) claim(namespace, name, zone string) {
	volume := "pv-" + namespace + "-" + name
	m.items = append(m.items,
		object("v1", "PersistentVolumeClaim", namespace, name, fields{
			"spec":   fields{"accessModes": []string{"ReadWriteOnce"}, "storageClassName": "zonal", "volumeName": volume, "resources": fields{"requests": fields{"storage": "10Gi"}}},
			"status": fields{"phase": "Bound"},
		}),
		object("v1", "PersistentVolume", "", volume, fields{
			"spec": fields{
				"accessModes": []string{"ReadWriteOnce"}, "capacity": fields{"storage": "10Gi"}, "storageClassName": "zonal",
				"claimRef": fields{"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name},
				"csi":      fields{"driver": driver, "volumeHandle": volume},
				"nodeAffinity": fields{"required": fields{"nodeSelectorTerms": []fields{
					{"matchExpressions": []fields{{"key": zoneKey, "operator": "In", "values": []string{zone}}}},
				}}},
			},
			"status": fields{"phase": "Bound"},
		}),
	)
}
