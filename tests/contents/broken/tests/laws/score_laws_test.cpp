  obey("lawful", lawful(), 1);
  lawless never_obeys;
